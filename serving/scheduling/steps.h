// The steps of a request between waiting, reading and running. Each has its reply in the end,
// also where memory is missing.
#pragma once

#include <chrono>
#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "onward/run_options.h"
#include "serving/scheduling/waiting_request.h"

namespace onward::serving {

// Why a request that has been read does not run.
absl::Status Refusal(const WaitingRequest& request, std::chrono::steady_clock::time_point now,
                     std::chrono::microseconds max_wait);
// Checks that the queue of the request's priority, where `there` wait, takes it.
absl::Status CheckRoom(const WaitingRequest& request, size_t there);

void FailSafely(WaitingRequest& request, absl::FunctionRef<absl::Status()> why);
// False: the request cannot be read, and has its reply.
bool ReadSafely(WaitingRequest& request);
// RunBatch, whatever it throws.
void RunSafely(WaitingRequests& batch, RunPriority priority);

}  // namespace onward::serving
