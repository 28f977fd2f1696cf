// The requests that wait for one model.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"
#include "serving/served_model.h"
#include "serving/statistics/model_statistics.h"

namespace onward::serving {

// How a request went.
struct Outcome {
  absl::StatusOr<InferReply> reply = absl::UnknownError("no reply");
  RequestTimes times = {};  // less those of writing the reply
  int64_t rows = 0;         // of its own
  // The rows of the run that it was part of, at one request of each run; else 0.
  int64_t executed_rows = 0;
  int64_t batch_rows = 0;  // of that run, at each request of it
};

// A request on its way through the scheduler.
struct ScheduledRequest {
  std::shared_ptr<ServedModel> model;
  int64_t bytes = 0;  // that it keeps while it waits
  std::stop_token client_left;
  std::function<absl::StatusOr<InferRequest>()> read;
  std::function<void(Outcome outcome)> reply;
};

struct WaitingRequest {
  ScheduledRequest scheduled;
  std::chrono::steady_clock::time_point arrived;
  uint64_t number = 0;                                 // in the order of arrival
  std::optional<InferRequest> request = std::nullopt;  // once it is read
  RequestTimes times = {};
  std::optional<std::stop_callback<std::function<void()>>> when_left;

  // 1: before those that ask for none, which have 2, as have those that are not read yet.
  uint64_t priority() const {
    constexpr uint64_t kDefault = 2;
    return request && request->priority > 0 ? request->priority : kDefault;
  }
  bool has_left() const { return scheduled.client_left.stop_requested(); }
  void Fail(absl::Status why) { scheduled.reply({.reply = std::move(why), .times = times}); }
};

using WaitingRequests = std::vector<std::unique_ptr<WaitingRequest>>;

// Not thread-safe: the scheduler's lock guards it.
class Line {
 public:
  void Add(std::unique_ptr<WaitingRequest> request);
  // Puts one back that has been read, before those of lower priority and those that came later.
  void PutBack(std::unique_ptr<WaitingRequest> request);
  std::unique_ptr<WaitingRequest> Remove(uint64_t number);  // null: it is not here
  // At most `most` that are not read yet, the first ones first.
  WaitingRequests TakeUnread(size_t most);
  // The first one that is read and those that can run with it; nothing where none is read.
  WaitingRequests TakeBatch();

  size_t size() const { return waiting_.size(); }
  size_t unread() const { return unread_; }
  bool has_read() const { return waiting_.size() > unread_; }

  double turn = 0;     // seconds that its requests have computed, for taking turns
  double cost = 0;     // seconds of a request, by the runs of late
  size_t in_hand = 0;  // requests that are read or run now

 private:
  std::deque<std::unique_ptr<WaitingRequest>> waiting_;
  size_t unread_ = 0;
};

}  // namespace onward::serving
