// What sessions and trainings tell and count.
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/counters.h"
#include "onward/log.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Log, ASinkTakesRecords) {
  std::vector<std::string> records;
  const LogSink sink = [&](const LogRecord& record) {
    records.push_back(std::string(record.source) + ": " + record.message);
    EXPECT_EQ(record.level, LogLevel::kWarning);
  };
  Warn(sink, "session", "a warning");
  Warn(nullptr, "session", "nobody hears it");
  EXPECT_THAT(records, ElementsAre("session: a warning"));
}

TEST(Log, StandardErrorHasALineForEachRecord) {
  ::testing::internal::CaptureStderr();
  const LogSink sink = LogToStandardError(LogLevel::kWarning);
  WriteLog(sink, LogLevel::kNews, "training", "not asked for");
  WriteLog(sink, LogLevel::kWarning, "training", "slow");
  WriteLog(sink, LogLevel::kError, "training", "lost");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warning: slow\nerror: lost\n");
}

TEST(Counters, ThreadsCountTogether) {
  Counters counters;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) counters.Named("both").Add(2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(counters.Read(), ElementsAre(Pair("both", 8000)));
}

TEST(Counters, SessionsCountRunsAndSizes) {
  auto model = testing::ModelFromText("g (float[n] x) => (float[n] y) { y = Neg (x) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto counters = std::make_shared<Counters>();
  const auto session = Session::Create(*std::move(model), {.counters = counters});
  ASSERT_TRUE(session.ok()) << session.status();
  for (const int64_t size : {2, 3, 2}) {
    const auto ran = (*session)->Run({{"x", Tensor(DType::kFloat32, {size})}});
    EXPECT_TRUE(ran.ok()) << ran.status();
  }
  EXPECT_FALSE((*session)->Run({{"x", Tensor(DType::kInt32, {2})}}).ok());
  EXPECT_THAT(counters->Read(), Contains(Pair("session/bindings", 2)));
  EXPECT_THAT(counters->Read(), Contains(Pair("session/runs", 4)));
  EXPECT_THAT(counters->Read(), Contains(Pair("session/failed_runs", 1)));
  EXPECT_GT(counters->Read()["session/run_nanoseconds"], 0);
  const auto shared = (*session)->Share({.counters = counters});
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_TRUE((*shared)->Run({{"x", Tensor(DType::kFloat32, {2})}}).ok());
  EXPECT_THAT(counters->Read(), Contains(Pair("session/runs", 5)));
}

}  // namespace
}  // namespace onward::executors
