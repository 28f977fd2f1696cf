// Turns, batches and waits, without sockets.
#include "serving/scheduling/scheduler.h"

#include <atomic>
#include <condition_variable>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/repository/config_text.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using onward::testing::ModelFromText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwice[] = "g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }";
constexpr char kLookup[] =
    "g (int64[n] i) => (float[n, 2] y) <float[3, 2] table = {0, 1, 10, 11, 20, 21}>"
    "{ y = Gather(table, i) }";

std::shared_ptr<ServedModel> Model(const std::string& name, const std::string& text,
                                   const std::string& config = "", ServedModelFacts facts = {}) {
  auto model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
  EXPECT_TRUE(session.ok()) << session.status();
  facts.config = std::make_shared<config::ModelConfig>(*ReadConfigText(config, name, nullptr));
  auto served = ServedModel::Create(name, *std::move(session), std::move(facts));
  EXPECT_TRUE(served.ok()) << served.status();
  return *std::move(served);
}

// What is scheduled waits until Open: the first request, of the model "gate", holds the only core.
class SchedulerTest : public ::testing::Test {
 protected:
  struct Replied : Outcome {
    size_t place = 0;  // in the order of replies
  };

  void Start(SchedulerOptions options = {}) { scheduler_ = std::make_unique<Scheduler>(options); }

  void Shut() {
    ScheduledRequest gate = Request(gate_model_, "x", Tensor::Of<float>({1, 2}, {0, 0}), gate_);
    gate.read = [this, read = gate.read] {
      std::unique_lock lock(mutex_);
      shut_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      return read();
    };
    ASSERT_TRUE(scheduler_->Submit(std::move(gate)).ok());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return shut_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Finish() { scheduler_.reset(); }

  ScheduledRequest Request(std::shared_ptr<ServedModel> model, const std::string& input,
                           Tensor tensor, Replied& replied, InferRequest request = {}) {
    ScheduledRequest scheduled;
    scheduled.model = std::move(model);
    request.inputs[input] = Value(std::move(tensor));
    scheduled.read = [request]() -> absl::StatusOr<InferRequest> { return request; };
    scheduled.reply = [this, &replied](Outcome outcome) {
      static_cast<Outcome&>(replied) = std::move(outcome);
      replied.place = ++replies_;
    };
    return scheduled;
  }

  const std::shared_ptr<ServedModel> gate_model_ = Model("gate", kTwice);
  const std::shared_ptr<ServedModel> twice_ = Model("twice", kTwice);
  const std::shared_ptr<ServedModel> lookup_ = Model("lookup", kLookup);
  std::unique_ptr<Scheduler> scheduler_;
  Replied gate_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false, open_ = false;
  std::atomic<size_t> replies_ = 0;
};

TEST_F(SchedulerTest, WhatHasComeMeanwhileIsOneBatch) {
  Start();
  Shut();
  Replied outcomes[3];
  const int64_t rows[] = {1, 3, 2};
  for (int i = 0; i < 3; ++i) {
    Tensor x(DType::kFloat32, {rows[i], 2});
    for (int64_t k = 0; k < x.num_elements(); ++k)
      x.mutable_data<float>()[k] = static_cast<float>(100 * i + k);
    ASSERT_TRUE(scheduler_->Submit(Request(twice_, "x", x, outcomes[i])).ok());
  }
  Open();
  Finish();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(outcomes[i].reply.ok()) << outcomes[i].reply.status();
    const Tensor& y = outcomes[i].reply->outputs[0].tensor;
    ASSERT_THAT(y.dims(), ElementsAre(rows[i], 2));
    for (int64_t k = 0; k < y.num_elements(); ++k)
      EXPECT_EQ(y.data<float>()[k], static_cast<float>(2 * (100 * i + k)));
    EXPECT_EQ(outcomes[i].rows, rows[i]);
    EXPECT_EQ(outcomes[i].executed_rows, i == 0 ? 6 : 0);  // one run
  }
  EXPECT_EQ(gate_.executed_rows, 1);
}

TEST_F(SchedulerTest, NobodyGetsTheErrorOfAnother) {
  Start();
  Shut();
  Replied good, bad, other;
  ASSERT_TRUE(scheduler_->Submit(Request(lookup_, "i", Tensor::Of<int64_t>({1}, {2}), good)).ok());
  ASSERT_TRUE(scheduler_->Submit(Request(lookup_, "i", Tensor::Of<int64_t>({1}, {7}), bad)).ok());
  ASSERT_TRUE(scheduler_->Submit(Request(lookup_, "i", Tensor::Of<int64_t>({1}, {0}), other)).ok());
  Open();
  Finish();
  ASSERT_TRUE(good.reply.ok()) << good.reply.status();
  EXPECT_THAT(good.reply->outputs[0].tensor.span<float>(), ElementsAre(20, 21));
  ASSERT_TRUE(other.reply.ok()) << other.reply.status();
  EXPECT_THAT(other.reply->outputs[0].tensor.span<float>(), ElementsAre(0, 1));
  EXPECT_FALSE(bad.reply.ok());
}

TEST_F(SchedulerTest, RequestsOfOtherShapesAndErrorsRunAlone) {
  Start();
  Shut();
  Replied two, wrong, unknown;
  InferRequest asks;
  asks.outputs = {{"z"}};
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor::Of<float>({1, 2}, {1, 2}), two)).ok());
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor::Of<float>({1, 3}, {1, 2, 3}), wrong)).ok());
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor::Of<float>({1, 2}, {1, 2}), unknown, asks))
          .ok());
  Open();
  Finish();
  EXPECT_TRUE(two.reply.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(wrong.reply.status()));
  EXPECT_THAT(std::string(unknown.reply.status().message()), HasSubstr("no output 'z'"));
}

TEST_F(SchedulerTest, PrioritiesAndTimeouts) {
  Start();
  Shut();
  Replied low, high, late;
  const auto with = [&](uint64_t priority, std::optional<std::chrono::microseconds> timeout) {
    InferRequest request;
    request.priority = priority;
    request.timeout = timeout;
    return request;
  };
  // Other shapes, which do not form a batch: all but `late` are refused by the model, in turn.
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor(DType::kFloat32, {1, 3}), low, with(5, {})))
          .ok());
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor(DType::kFloat32, {1, 4}), high, with(1, {})))
          .ok());
  ASSERT_TRUE(scheduler_
                  ->Submit(Request(twice_, "x", Tensor(DType::kFloat32, {1, 5}), late,
                                   with(9, std::chrono::microseconds(1))))
                  .ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Open();
  Finish();
  EXPECT_LT(high.place, low.place);
  EXPECT_TRUE(absl::IsUnavailable(late.reply.status()));
  EXPECT_THAT(std::string(late.reply.status().message()), HasSubstr("Request timeout expired"));
}

TEST_F(SchedulerTest, WhoWouldWaitTooLongIsRefusedAtOnce) {
  Start({.max_wait = std::chrono::microseconds(0), .most_waiting = 2, .most_waiting_bytes = 10});
  Replied first, second, third;
  Shut();  // its run is still to be measured
  ScheduledRequest large = Request(twice_, "x", Tensor::Of<float>({1, 2}, {0, 0}), second);
  large.bytes = 11;
  EXPECT_TRUE(absl::IsUnavailable(scheduler_->Submit(std::move(large))));
  ASSERT_TRUE(
      scheduler_->Submit(Request(twice_, "x", Tensor::Of<float>({1, 2}, {0, 0}), first)).ok());
  EXPECT_TRUE(absl::IsUnavailable(
      scheduler_->Submit(Request(twice_, "x", Tensor::Of<float>({1, 2}, {0, 0}), third))));
  EXPECT_TRUE(absl::IsUnavailable(scheduler_->Admit(*twice_, 0)));
  Open();
  Finish();
  // It waited for longer than nothing.
  EXPECT_TRUE(absl::IsUnavailable(first.reply.status()));
}

// Threads that compute what is not a request: never more than cores with the requests, each in turn
// and none forgotten.
TEST_F(SchedulerTest, TurnsOfOthersCountAsCores) {
  for (const int cores : {1, 2}) {
    Start({.cores = cores});
    const auto lookup = Model("lookup", kLookup);
    std::atomic<int> computing = 0, most = 0, turns = 0;
    const auto compute = [&](RunPriority priority) {
      const int now = computing += priority == RunPriority::kNormal ? cores : 1;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      computing -= priority == RunPriority::kNormal ? cores : 1;
      ++turns;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        // Two threads have one name, as versions of a model do.
        const std::string name = absl::StrCat("text", t / 2);
        for (int i = 0; i < 30; ++i) scheduler_->TakeTurn(name, {}, compute);
      });
    }
    constexpr int kRequests = 60;
    Replied outcomes[kRequests];
    for (Replied& outcome : outcomes) {
      ScheduledRequest request = Request(lookup, "i", Tensor::Of<int64_t>({1}, {1}), outcome);
      request.read = [&, read = request.read] {
        compute(RunPriority::kBackground);
        --turns;
        return read();
      };
      ASSERT_TRUE(scheduler_->Submit(std::move(request)).ok());
    }
    for (std::thread& thread : threads) thread.join();
    Finish();
    EXPECT_EQ(turns, 90);
    EXPECT_LE(most, cores);
    for (const Replied& outcome : outcomes) EXPECT_TRUE(outcome.reply.ok());
  }
}

// A thread that goes may hold the only core: what it waits for does not wait for a turn.
TEST_F(SchedulerTest, WhatIsUrgentTakesNoTurn) {
  Start();
  Shut();
  std::stop_source at_once;
  bool computed = false;
  std::thread thread([&] {
    scheduler_->TakeTurn("text", at_once.get_token(), [&](RunPriority) { computed = true; });
  });
  at_once.request_stop();
  thread.join();
  EXPECT_TRUE(computed);
  Open();
  Finish();
}

// Sums of 700 products, whose order depends on how many rows there are.
TEST_F(SchedulerTest, DeterministicRowsHaveTheSameBitsInAnyCompany) {
  constexpr char kProduct[] =
      "g (float[n, 700] x) => (float[n, 3] y) <int64[2] shape = {700, 3}> {"
      "  ones = ConstantOfShape <value: tensor = float[1] {0.1}> (shape)"
      "  y = MatMul (x, ones) }";
  constexpr int64_t kRows = 7, kColumns = 700;
  Tensor batch = *Tensor::Create(DType::kFloat32, {kRows, kColumns});
  std::mt19937 draw(5);
  for (float& value : absl::MakeSpan(batch.mutable_data<float>(), kRows * kColumns))
    value = std::normal_distribution<float>()(draw);
  ServedModelFacts facts;
  facts.deterministic = true;
  const auto model = Model("product", kProduct, "", facts);
  EXPECT_EQ(model->most_batch_rows(), 0);
  const auto together = model->Run({{"x", Value(batch)}}, {});
  ASSERT_TRUE(together.ok()) << together.status();
  const Tensor& all = together->at("y").tensor();
  EXPECT_THAT(all.dims(), ElementsAre(kRows, 3));
  for (int64_t row = 0; row < kRows; ++row) {
    Tensor one = *Tensor::Create(DType::kFloat32, {1, kColumns});
    std::copy_n(batch.data<float>() + row * kColumns, kColumns, one.mutable_data<float>());
    const auto alone = model->Run({{"x", Value(one)}}, {});
    ASSERT_TRUE(alone.ok()) << alone.status();
    const absl::Span<const float> got = all.span<float>().subspan(size_t(row) * 3, 3);
    EXPECT_EQ(alone->at("y").tensor().span<float>(), got) << "row " << row;
  }
}

// The running sums of three sequences, whose requests wait all at once: those of one run one after
// another, in the order of arrival, those of several together.
TEST_F(SchedulerTest, RequestsOfASequenceRunInTheirOrder) {
  for (const int cores : {1, 2}) {
    Start({.cores = cores});
    const auto sums = Model("sums",
                            "g (float[n, 2] x, float[n, 2] s) => (float[n, 2] y, float[n, 2] t)"
                            "{ t = Add(x, s) y = Identity(t) }",
                            R"(sequence_batching { state { input_name: "s" output_name: "t" } })");
    ASSERT_GT(sums->most_batch_rows(), 0);
    if (cores == 1) Shut();
    constexpr int kSequences = 3, kRequests = 20;
    Replied outcomes[kRequests][kSequences];
    for (int i = 0; i < kRequests; ++i) {
      for (int k = 0; k < kSequences; ++k) {
        InferRequest asks;
        asks.sequence = {uint64_t(k + 1), i == 0, i == kRequests - 1};
        asks.priority = static_cast<uint64_t>(1 + i % 3);  // changes no order
        const float x = float(i * 10 + k);
        ASSERT_TRUE(scheduler_
                        ->Submit(Request(sums, "x", Tensor::Of<float>({1, 2}, {x, 1}),
                                         outcomes[i][k], asks))
                        .ok());
      }
    }
    if (cores == 1) Open();
    Finish();
    for (int k = 0; k < kSequences; ++k) {
      float sum = 0;
      for (int i = 0; i < kRequests; ++i) {
        const Replied& outcome = outcomes[i][k];
        ASSERT_TRUE(outcome.reply.ok()) << outcome.reply.status();
        sum += float(i * 10 + k);
        EXPECT_THAT(outcome.reply->outputs[0].tensor.span<float>(), ElementsAre(sum, float(i + 1)));
        if (cores == 1) {
          EXPECT_EQ(outcome.batch_rows, kSequences);
        }
      }
    }
    EXPECT_EQ(sums->sequences()->size(), 0);
  }
}

TEST_F(SchedulerTest, QueuesOfModelsAreAsLargeAsConfigured) {
  Start();
  const auto one = Model("one", kTwice,
                         "dynamic_batching { default_queue_policy { "
                         "max_queue_size: 2 default_timeout_microseconds: 1 } }");
  const auto levels = Model("levels", kTwice, R"(dynamic_batching { priority_levels: 2
      priority_queue_policy { key: 1 value { max_queue_size: 1 } } })");
  Shut();
  Replied first, second, third, high[2], low[2];
  const auto x = [] { return Tensor::Of<float>({1, 2}, {1, 1}); };
  ASSERT_TRUE(scheduler_->Submit(Request(one, "x", x(), first)).ok());
  ASSERT_TRUE(scheduler_->Submit(Request(one, "x", x(), second)).ok());
  EXPECT_THAT(std::string(scheduler_->Submit(Request(one, "x", x(), third)).message()),
              HasSubstr("Exceeds maximum queue size"));
  for (int i = 0; i < 2; ++i) {
    InferRequest asks;
    asks.priority = 2;
    ASSERT_TRUE(scheduler_->Submit(Request(levels, "x", x(), low[i], asks)).ok());
    asks.priority = 1;
    ASSERT_TRUE(scheduler_->Submit(Request(levels, "x", x(), high[i], asks)).ok());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Open();
  Finish();
  EXPECT_THAT(std::string(first.reply.status().message()), HasSubstr("Request timeout expired"));
  EXPECT_TRUE(low[0].reply.ok() && low[1].reply.ok() && high[0].reply.ok());
  EXPECT_THAT(std::string(high[1].reply.status().message()),
              HasSubstr("Exceeds maximum queue size"));
}

// Clients that leave at any moment: each request has one reply, nothing is left.
TEST_F(SchedulerTest, ClientsLeaveAtAnyMoment) {
  Start({.cores = 2});
  std::mt19937 random(1);
  constexpr int kRequests = 2000;
  std::vector<Replied> outcomes(kRequests);
  std::vector<std::stop_source> clients(kRequests);
  std::thread leaving([&] {
    for (int i = 0; i < kRequests; i += 3) {
      clients[static_cast<size_t>(i)].request_stop();
      if (i % 30 == 0) std::this_thread::yield();
    }
  });
  for (int i = 0; i < kRequests; ++i) {
    ScheduledRequest request =
        Request(i % 2 == 0 ? twice_ : gate_model_, "x", Tensor::Of<float>({1, 2}, {float(i), 1}),
                outcomes[static_cast<size_t>(i)]);
    request.client_left = clients[static_cast<size_t>(i)].get_token();
    ASSERT_TRUE(scheduler_->Submit(std::move(request)).ok());
  }
  leaving.join();
  Finish();
  for (int i = 0; i < kRequests; ++i) {
    const Replied& outcome = outcomes[static_cast<size_t>(i)];
    ASSERT_FALSE(absl::IsUnknown(outcome.reply.status())) << i;
    if (i % 3 != 0) {
      ASSERT_TRUE(outcome.reply.ok()) << i << outcome.reply.status();
      EXPECT_EQ(outcome.reply->outputs[0].tensor.data<float>()[0], static_cast<float>(2 * i));
    } else if (!outcome.reply.ok()) {
      EXPECT_TRUE(absl::IsCancelled(outcome.reply.status())) << outcome.reply.status();
    }
  }
}

}  // namespace
}  // namespace onward::serving
