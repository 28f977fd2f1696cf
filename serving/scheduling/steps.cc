#include "serving/scheduling/steps.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/request_trace.h"
#include "serving/scheduling/run_batch.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

absl::StatusOr<InferRequest> Read(const ScheduledRequest& scheduled) {
  absl::StatusOr<InferRequest> request = scheduled.read();
  if (!request.ok()) return request;
  const absl::Status outputs = scheduled.model->CheckRequest(*request);
  if (!outputs.ok()) return outputs;
  return request;
}

bool TakeRead(WaitingRequest& request) {
  const Clock::time_point begin = Clock::now();
  request.times.queue = Nanoseconds(begin - request.arrived);
  absl::StatusOr<InferRequest> result = Read(request.scheduled);
  request.times.compute_input = Nanoseconds(Clock::now() - begin);
  AddSpan(request.scheduled.trace.get(), "waiting", request.arrived, begin);
  AddSpan(request.scheduled.trace.get(), "reading", begin, request.ready());
  if (!result.ok()) {
    request.Fail(result.status());
    return false;
  }
  request.request = *std::move(result);
  request.most_wait = request.scheduled.model->queue().TakeTimeout(*request.request);
  if (request.sequences() != nullptr)
    request.sequence = request.sequences()->Hold(request.request->sequence);
  return true;
}

}  // namespace

absl::Status Refusal(const WaitingRequest& request, Clock::time_point now,
                     std::chrono::microseconds max_wait) {
  if (request.has_left()) return absl::CancelledError("the client has left");
  if (!request.refusal.ok()) return request.refusal;
  const auto waited = now - request.arrived;
  if (request.Waited(now) && !request.delayed)
    return absl::UnavailableError("Request timeout expired");
  if (waited > max_wait)
    return absl::UnavailableError("the server is overloaded: the request waited too long");
  return absl::OkStatus();
}

absl::Status CheckRoom(const WaitingRequest& request, size_t there) {
  // Where there are several queues, the body says which one it is.
  if (!request.request && request.scheduled.model->queue().levels > 0) return absl::OkStatus();
  const QueuePolicy* const policy = request.policy();
  if (policy == nullptr || policy->most == 0 || there < policy->most) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("Exceeds maximum queue size: ", there, " requests wait for the model"));
}

void FailSafely(WaitingRequest& request, absl::FunctionRef<absl::Status()> why) {
  try {
    request.Fail(why());
  } catch (const std::bad_alloc&) {
    request.FailForMemory();
  }
}

bool ReadSafely(WaitingRequest& request) {
  try {
    return TakeRead(request);
  } catch (const std::bad_alloc&) {
    request.FailForMemory();
    return false;
  }
}

void RunSafely(WaitingRequests& batch, RunPriority priority) {
  absl::Status why(absl::StatusCode::kResourceExhausted, "");
  try {
    return RunBatch(batch, priority);
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    why = absl::InternalError(error.what());
  }
  for (WaitingRequest& each : batch) {
    if (each.replied) continue;
    if (absl::IsInternal(why)) {
      each.Fail(why);
    } else {
      each.FailForMemory();
    }
  }
}

}  // namespace onward::serving
