// Queues of models: instances, priorities, timeouts and sizes that configurations give.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/repository/config_text.h"
#include "serving/scheduling/line.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

absl::StatusOr<QueueConfig> Read(const std::string& text) {
  return ReadQueueConfig(*ReadConfigText(text, "m", nullptr));
}

TEST(QueueConfigTest, WithoutConfiguration) {
  const QueueConfig config = *Read("");
  EXPECT_EQ(config.LevelOf(0), 2);
  EXPECT_EQ(config.LevelOf(77), 77);
  EXPECT_EQ(config.PolicyOf(2), nullptr);
  InferRequest request;
  EXPECT_EQ(config.TakeTimeout(request), std::nullopt);
  request.timeout = microseconds(5);
  EXPECT_EQ(config.TakeTimeout(request), microseconds(5));
}

TEST(QueueConfigTest, Priorities) {
  const QueueConfig config =
      *Read(R"(dynamic_batching { priority_levels: 5 default_priority_level: 4
        default_queue_policy { max_queue_size: 9 }
        priority_queue_policy { key: 1 value { max_queue_size: 7 timeout_action: DELAY } } })");
  EXPECT_EQ(config.LevelOf(0), 4);
  EXPECT_EQ(config.LevelOf(5), 5);
  EXPECT_EQ(config.LevelOf(6), 4);
  EXPECT_EQ(config.PolicyOf(1)->most, 7);
  EXPECT_EQ(config.PolicyOf(2)->most, 9);
  EXPECT_TRUE(config.delays());
}

// As Triton has it: a request may shorten the wait, where it is allowed to say anything.
TEST(QueueConfigTest, Timeouts) {
  const auto wait = [](const std::string& policy, std::optional<microseconds> asked) {
    InferRequest request;
    request.timeout = asked;
    return Read("dynamic_batching { default_queue_policy { " + policy + " } }")
        ->TakeTimeout(request);
  };
  const std::string ten = "default_timeout_microseconds: 10 ", may = "allow_timeout_override: true";
  EXPECT_EQ(wait(ten, std::nullopt), microseconds(10));
  EXPECT_EQ(wait(ten, microseconds(5)), microseconds(10));
  EXPECT_EQ(wait(ten + may, microseconds(5)), microseconds(5));
  EXPECT_EQ(wait(ten + may, microseconds(50)), microseconds(10));
  EXPECT_EQ(wait(may, microseconds(50)), microseconds(50));
  EXPECT_EQ(wait("", microseconds(50)), std::nullopt);
}

TEST(QueueConfigTest, WhatContradictsItselfIsNamed) {
  const auto error = [](const std::string& text) {
    return std::string(Read(text).status().message());
  };
  EXPECT_THAT(error("dynamic_batching { priority_levels: 2 default_priority_level: 3 }"),
              HasSubstr("default_priority_level: expected at most priority_levels, 2, got 3"));
  EXPECT_THAT(error("dynamic_batching { priority_queue_policy { key: 1 value { } } }"),
              HasSubstr("priority_queue_policy 1: expected a level from 1 to priority_levels, 0"));
}

class LineTest : public ::testing::Test {
 protected:
  void Configure(const std::string& config) {
    auto model = onward::testing::ModelFromText("g (float[2] x) => (float[2] y) { y = Add(x, x) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1});
    ASSERT_TRUE(session.ok()) << session.status();
    ServedModelFacts facts;
    facts.config = std::make_shared<config::ModelConfig>(*ReadConfigText(config, "m", nullptr));
    auto served = ServedModel::Create("m", *std::move(session), std::move(facts));
    ASSERT_TRUE(served.ok()) << served.status();
    model_ = *std::move(served);
  }
  // A request that came and has been read.
  void Come(uint64_t priority) {
    WaitingRequests one(1);
    one.front().scheduled.model = model_;
    one.front().arrived = now_;
    one.front().number = ++number_;
    line_.Add(std::move(one));
    WaitingRequests taken = line_.TakeUnread(1);
    WaitingRequest& request = taken.front();
    request.request.emplace().priority = priority;
    request.request->inputs["x"] = Value(Tensor::Of<float>({2}, {0, 0}));
    request.most_wait = model_->queue().TakeTimeout(*request.request);
    line_.PutBack(std::move(taken));
  }
  WaitingRequests Taken(Clock::time_point now, WaitingRequests& late) {
    WaitingRequests batch;
    line_.TakeBatch(now, std::chrono::seconds(1), batch, late);
    return batch;
  }
  std::vector<uint64_t> Order(Clock::time_point now) {
    std::vector<uint64_t> numbers;
    WaitingRequests late;
    while (line_.HasWork())
      for (const WaitingRequest& each : Taken(now, late)) numbers.push_back(each.number);
    EXPECT_TRUE(late.empty());
    return numbers;
  }

  const Clock::time_point now_ = Clock::now();
  std::shared_ptr<ServedModel> model_;
  Line line_;
  uint64_t number_ = 0;
};

TEST_F(LineTest, LevelsGoBeforeEachOther) {
  Configure("dynamic_batching { priority_levels: 3 default_priority_level: 2 }");
  for (const uint64_t priority : {3, 0, 1, 2, 9, 1}) Come(priority);
  EXPECT_EQ(line_.CountOf(2), 3);
  EXPECT_THAT(Order(now_), ElementsAre(3, 6, 2, 4, 5, 1));
}

TEST_F(LineTest, WhoWaitedTooLongLetsOthersGoFirst) {
  Configure(R"(dynamic_batching { priority_levels: 2 default_priority_level: 2
      priority_queue_policy { key: 1 value { timeout_action: DELAY
                                             default_timeout_microseconds: 10 } } })");
  for (const uint64_t priority : {1, 2, 1, 2}) Come(priority);
  EXPECT_THAT(Order(now_ + microseconds(10)), ElementsAre(1, 3, 2, 4));
  for (const uint64_t priority : {1, 2, 1, 2}) Come(priority);
  EXPECT_THAT(Order(now_ + microseconds(11)), ElementsAre(6, 8, 5, 7));
}

TEST_F(LineTest, NoMoreRunsThanInstances) {
  Configure("instance_group { count: 2 }");
  Come(0);
  line_.running = 2;
  EXPECT_FALSE(line_.HasWork());
  WaitingRequests late;
  EXPECT_TRUE(Taken(now_, late).empty());
  line_.running = 1;
  EXPECT_TRUE(line_.HasWork());
  EXPECT_EQ(Taken(now_, late).size(), 1);
}

// They would leave a batch smaller than it could be.
TEST_F(LineTest, WhoIsTooLateTakesNoPlaceInABatch) {
  Configure("");
  Come(0);
  Come(0);
  std::stop_source client;
  client.request_stop();
  WaitingRequests gone(1);
  gone.front().scheduled.model = model_;
  gone.front().scheduled.client_left = client.get_token();
  gone.front().number = 0;
  gone.front().request.emplace();
  line_.PutBack(std::move(gone));
  WaitingRequests late;
  EXPECT_EQ(Taken(now_, late).front().number, 1);
  ASSERT_EQ(late.size(), 1);
  EXPECT_EQ(late.front().number, 0);
  late.clear();
  EXPECT_TRUE(Taken(now_ + std::chrono::seconds(2), late).empty());
  EXPECT_EQ(late.size(), 1);
  EXPECT_EQ(line_.size(), 0);
}

}  // namespace
}  // namespace onward::serving
