// The times that requests to one version of a model took, since the server began.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "serving/statistics/histogram.h"

namespace onward::serving {

inline int64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Nanoseconds.
struct RequestTimes {
  int64_t total = 0;  // from its arrival to its reply
  int64_t queue = 0;
  int64_t compute_input = 0;  // reading the tensors
  int64_t compute_infer = 0;
  int64_t compute_output = 0;  // writing the reply
};

// Measures the stages of one request, one after the other. Not thread-safe.
class RequestTimer {
 public:
  using Clock = std::chrono::steady_clock;

  RequestTimer() : begun_(Clock::now()), last_(begun_) {}

  // The stage took the time since the one before it ended.
  void End(int64_t RequestTimes::*stage) {
    const Clock::time_point now = Clock::now();
    times_.*stage += Nanoseconds(now - last_);
    last_ = now;
  }
  RequestTimes times() const {
    RequestTimes times = times_;
    times.total = Nanoseconds(Clock::now() - begun_);
    return times;
  }

 private:
  Clock::time_point begun_, last_;
  RequestTimes times_;
};

// Why requests fail, by the words of metrics: see FailureName.
enum class Failure { kRejected, kCanceled, kBackend, kOther };
inline constexpr int kFailures = 4;
const char* FailureName(Failure failure);  // "REJECTED"
// Unavailable and ResourceExhausted are rejections, Internal and Unknown are of the backend.
Failure FailureOf(const absl::Status& status);

struct DurationSum {
  int64_t count = 0, ns = 0;
  void Add(int64_t nanoseconds) { ++count, ns += nanoseconds; }
};

struct BatchDurations {
  DurationSum compute_input, compute_infer, compute_output;
};

struct StatisticsSnapshot {
  int64_t last_inference = 0;  // milliseconds since 1970
  int64_t inference_count = 0, execution_count = 0;
  int64_t pending = 0;  // requests that wait for their execution
  DurationSum success, fail, queue;
  BatchDurations compute;
  std::array<int64_t, kFailures> failures = {};
  std::map<int64_t, BatchDurations> batches;  // by rows
  DurationHistogram request_histogram, queue_histogram, compute_histogram;
};

// Thread-safe.
class ModelStatistics {
 public:
  // A request whose reply is ready, with the rows that it had.
  void RecordSuccess(int64_t rows, const RequestTimes& times);
  void RecordFailure(Failure failure, int64_t total_nanoseconds);
  // One execution of the model, for one request or several that were batched; its times are those
  // of the batch.
  void RecordExecution(int64_t rows, const RequestTimes& times);
  // A request begins (+1) or ends (-1) to wait for its execution.
  void AddPending(int64_t change) { pending_.fetch_add(change, std::memory_order_relaxed); }

  StatisticsSnapshot Read() const;

 private:
  std::atomic<int64_t> pending_{0};
  mutable std::mutex mutex_;
  StatisticsSnapshot sums_;  // guarded by mutex_
};

}  // namespace onward::serving
