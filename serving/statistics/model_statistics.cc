#include "serving/statistics/model_statistics.h"

namespace onward::serving {
namespace {

int64_t MillisecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void AddTo(BatchDurations& durations, const RequestTimes& times) {
  durations.compute_input.Add(times.compute_input);
  durations.compute_infer.Add(times.compute_infer);
  durations.compute_output.Add(times.compute_output);
}

}  // namespace

const char* FailureName(Failure failure) {
  constexpr const char* kNames[kFailures] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};
  return kNames[static_cast<int>(failure)];
}

Failure FailureOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return Failure::kRejected;
    case absl::StatusCode::kCancelled:
      return Failure::kCanceled;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return Failure::kBackend;
    default:
      return Failure::kOther;
  }
}

void ModelStatistics::RecordSuccess(int64_t rows, const RequestTimes& times) {
  const int64_t now = MillisecondsSince1970();
  const std::lock_guard lock(mutex_);
  sums_.last_inference = now;
  sums_.inference_count += rows;
  sums_.success.Add(times.total);
  sums_.queue.Add(times.queue);
  AddTo(sums_.compute, times);
  sums_.request_histogram.Add(times.total);
  sums_.queue_histogram.Add(times.queue);
  sums_.compute_histogram.Add(times.compute_infer);
}

void ModelStatistics::RecordFailure(Failure failure, int64_t total_nanoseconds) {
  const std::lock_guard lock(mutex_);
  sums_.fail.Add(total_nanoseconds);
  ++sums_.failures[static_cast<size_t>(failure)];
}

void ModelStatistics::RecordExecution(int64_t rows, const RequestTimes& times) {
  const std::lock_guard lock(mutex_);
  ++sums_.execution_count;
  AddTo(sums_.batches[rows], times);
}

StatisticsSnapshot ModelStatistics::Read() const {
  const std::lock_guard lock(mutex_);
  StatisticsSnapshot snapshot = sums_;
  snapshot.pending = pending_.load(std::memory_order_relaxed);
  return snapshot;
}

}  // namespace onward::serving
