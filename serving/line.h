// The requests that wait for one model.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"
#include "serving/served_model.h"

namespace onward::serving {

// How long the parts of a request took.
struct RequestTimes {
  std::chrono::nanoseconds queue{0}, input{0}, infer{0};
  int64_t batch_rows = 0;  // of the run that it was part of; 0: it did not run
};

// A request on its way through the scheduler.
struct ScheduledRequest {
  std::shared_ptr<ServedModel> model;
  int64_t bytes = 0;  // that it keeps while it waits
  std::stop_token client_left;
  std::function<absl::StatusOr<InferRequest>()> read;
  std::function<void(absl::StatusOr<InferReply> reply, const RequestTimes& times)> reply;
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
};

using WaitingRequests = std::vector<std::unique_ptr<WaitingRequest>>;

// Not thread-safe: the scheduler's lock guards it.
class Line {
 public:
  void Add(std::unique_ptr<WaitingRequest> request);
  // Puts one back that has been read, before those of lower priority and those that came later.
  void PutBack(std::unique_ptr<WaitingRequest> request);
  std::unique_ptr<WaitingRequest> Remove(const WaitingRequest* request);  // null: it is not here
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
