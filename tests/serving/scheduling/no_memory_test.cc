// Memory runs out on a thread that computes, at each allocation in turn: every request has a reply,
// and the next ones are served.
#include <functional>
#include <future>
#include <vector>

#include "gtest/gtest.h"
#include "serving/scheduling/scheduler.h"
#include "tests/serving/failing_memory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

std::shared_ptr<ServedModel> Twice() {
  auto model =
      onward::testing::ModelFromText("g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }");
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
  EXPECT_TRUE(session.ok()) << session.status();
  auto served = ServedModel::Create("twice", *std::move(session));
  EXPECT_TRUE(served.ok()) << served.status();
  return *std::move(served);
}

class NoMemoryTest : public ::testing::Test {
 protected:
  using Replies = std::vector<Outcome>;

  ScheduledRequest Request(std::function<void()> when_read, std::function<void(Outcome)> reply) {
    ScheduledRequest scheduled;
    scheduled.model = model_;
    InferRequest request;
    request.inputs["x"] = Value(Tensor::Of<float>({1, 2}, {1, 2}));
    scheduled.read = [request, when_read]() -> absl::StatusOr<InferRequest> {
      InferRequest copy = request;
      when_read();
      return copy;
    };
    scheduled.reply = std::move(reply);
    return scheduled;
  }

  // `count` requests run together; the allocation of that number after the last one was read fails,
  // and with `all` those behind it, until all have their replies. False: there were fewer.
  bool FailAt(int number, bool all, size_t count) {
    std::promise<void> begun, submitted, done, again;
    Replies replies, later;
    replies.reserve(count);
    later.reserve(1);
    bool any = false;
    Scheduler scheduler({});
    const auto gate = [&] {
      begun.set_value();
      submitted.get_future().wait();
    };
    EXPECT_TRUE(scheduler.Submit(Request(gate, [](const Outcome&) {})).ok());
    begun.get_future().wait();
    for (size_t i = 0; i < count; ++i) {
      const auto arm = [=] {
        if (i + 1 == count) testing::FailHere(number, all);
      };
      const auto reply = [&](Outcome outcome) {
        replies.push_back(std::move(outcome));
        if (replies.size() < count) return;
        any = testing::StopFailing();
        done.set_value();
      };
      EXPECT_TRUE(scheduler.Submit(Request(arm, reply)).ok());
    }
    submitted.set_value();
    done.get_future().wait();
    const auto reply = [&](Outcome outcome) {
      later.push_back(std::move(outcome));
      again.set_value();
    };
    EXPECT_TRUE(scheduler.Submit(Request([] {}, reply)).ok());
    again.get_future().wait();
    EXPECT_TRUE(later[0].reply.ok()) << later[0].reply.status();
    EXPECT_EQ(replies.size(), count);
    for (const Outcome& each : replies)
      EXPECT_TRUE(each.reply.ok() || absl::IsResourceExhausted(each.reply.status()))
          << each.reply.status();
    return any;
  }

  const std::shared_ptr<ServedModel> model_ = Twice();
};

TEST_F(NoMemoryTest, EachRequestHasItsReply) {
  for (const size_t count : {size_t{1}, size_t{3}}) {
    for (const bool all : {false, true}) {
      int number = 0;
      while (FailAt(number, all, count) && number < 2000) ++number;
      EXPECT_GT(number, 5);
      EXPECT_LT(number, 2000);
    }
  }
}

}  // namespace
}  // namespace onward::serving
