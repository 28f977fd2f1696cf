// A request on its way through the scheduler.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "onward/trace.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"
#include "serving/served_model.h"
#include "serving/statistics/model_statistics.h"

namespace onward::serving {

// The outcome of a request.
struct Outcome {
  absl::StatusOr<InferReply> reply = absl::UnknownError("no reply");
  RequestTimes times = {};  // less those of writing the reply
  int64_t rows = 0;         // of its own
  // The rows of the run that it was part of, at one request of each run; else 0.
  int64_t executed_rows = 0;
  int64_t batch_rows = 0;  // of that run, at each request of it
};

// As it is handed to the scheduler.
struct ScheduledRequest {
  std::shared_ptr<ServedModel> model;
  int64_t bytes = 0;  // that it keeps while it waits
  std::stop_token client_left;
  std::function<absl::StatusOr<InferRequest>()> read;
  std::function<void(Outcome outcome)> reply;
  std::shared_ptr<Trace> trace = nullptr;  // null: it is not traced
};

struct WaitingRequest {
  ScheduledRequest scheduled;
  std::chrono::steady_clock::time_point arrived;
  uint64_t number = 0;                                 // in the order of arrival
  std::optional<InferRequest> request = std::nullopt;  // once it is read
  std::shared_ptr<void> sequence;                      // once it is read; see Sequences::Hold
  std::unique_ptr<Sequences::Turn> turn;               // once it may run
  absl::Status refusal;                                // why it cannot run
  std::optional<std::chrono::microseconds> most_wait;  // once it is read
  bool delayed = false;  // has waited for longer, and lets all others go first
  bool replied = false;
  RequestTimes times = {};
  std::optional<std::stop_callback<std::function<void()>>> when_left;

  // 1: the highest. Those that are not read yet have the default, as have those of sequences, which
  // run in the order of arrival.
  uint64_t priority() const {
    const bool of_its_own = request && sequences() == nullptr;
    return scheduled.model->queue().LevelOf(of_its_own ? request->priority : 0);
  }
  const QueuePolicy* policy() const { return scheduled.model->queue().PolicyOf(priority()); }
  bool Waited(std::chrono::steady_clock::time_point now) const {
    return most_wait && now - arrived > *most_wait;
  }
  // The time when its reading ended.
  std::chrono::steady_clock::time_point ready() const {
    return arrived + std::chrono::nanoseconds(times.queue + times.compute_input);
  }
  Sequences* sequences() const { return scheduled.model->sequences(); }
  bool has_left() const { return scheduled.client_left.stop_requested(); }
  // Returns whether it may still run: its client is here and it has not waited too long.
  bool IsInTime(std::chrono::steady_clock::time_point now,
                std::chrono::microseconds max_wait) const {
    return !has_left() && (delayed || !Waited(now)) && now - arrived <= max_wait;
  }
  void Reply(Outcome outcome) {
    scheduled.reply(std::move(outcome));
    replied = true;
  }
  void Fail(absl::Status why) { Reply({.reply = std::move(why), .times = times}); }
  // The reply to a request for which memory was missing; allocates nothing where none is left.
  void FailForMemory();
};

// Requests move from list to list, which takes no memory.
using WaitingRequests = std::list<WaitingRequest>;

}  // namespace onward::serving
