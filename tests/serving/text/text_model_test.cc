// Texts wait for the rows of a batch, and not for longer than they may.
#include "serving/text/text_model.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serving/text/one_row.h"
#include "tests/serving/text_fixture.h"

namespace onward::serving {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr milliseconds kRowTime = OneRow::kTime;

class TextModelTest : public ::testing::Test {
 protected:
  absl::Status Generate(std::chrono::microseconds max_wait, std::stop_token stop = {}) {
    generation::TextRequest request;
    request.stop = std::move(stop);
    request.on_end = [this](const absl::StatusOr<generation::Finish>&) {
      const std::lock_guard lock(mutex_);
      ++ended_;
      changed_.notify_all();
    };
    return model_.Generate(std::move(request), max_wait);
  }
  void AwaitEnded(int texts) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ == texts; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  OneRow* const row_ = new OneRow;
  TextModel model_{LettersTokenizer(), {}, std::unique_ptr<generation::BatchGenerator>(row_)};
};

TEST_F(TextModelTest, WhoWouldWaitTooLongIsRefused) {
  ASSERT_TRUE(Generate(milliseconds(0)).ok());  // the row is free
  row_->AwaitRunning();
  // Nobody knows yet how long texts take.
  ASSERT_TRUE(Generate(milliseconds(0)).ok());
  row_->LetEnd(2);
  AwaitEnded(2);

  ASSERT_TRUE(Generate(milliseconds(0)).ok());
  row_->AwaitRunning();
  const absl::Status refused = Generate(kRowTime - milliseconds(1));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              ::testing::StartsWith("the model is overloaded: the text would wait for "));
  EXPECT_TRUE(Generate(hours(1)).ok());
  // Behind the one that waits, for twice as long.
  EXPECT_FALSE(Generate(2 * kRowTime - milliseconds(1)).ok());
  row_->LetEnd(2);
  AwaitEnded(4);
}

TEST_F(TextModelTest, TextsThatAreLeftMeasureNothing) {
  std::stop_source stop;
  ASSERT_TRUE(Generate(milliseconds(0), stop.get_token()).ok());
  row_->AwaitRunning();
  stop.request_stop();
  row_->LetEnd(1);
  AwaitEnded(1);
  ASSERT_TRUE(Generate(milliseconds(0)).ok());
  row_->AwaitRunning();
  EXPECT_TRUE(Generate(milliseconds(0)).ok());
  row_->LetEnd(2);
  AwaitEnded(3);
}

}  // namespace
}  // namespace onward::serving
