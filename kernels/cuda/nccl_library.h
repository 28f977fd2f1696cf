// NCCL, loaded when ranks first need it: a machine with one GPU has none.
#pragma once

#include <nccl.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::kernels::cuda {

struct Nccl {
  decltype(&ncclGetUniqueId) GetUniqueId;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError;
  decltype(&ncclAllReduce) AllReduce;
  decltype(&ncclBroadcast) Broadcast;
  decltype(&ncclCommAbort) CommAbort;
  decltype(&ncclCommDestroy) CommDestroy;
  decltype(&ncclGetErrorString) GetErrorString;

  // OK, also while the call continues in the background, or Internal with NCCL's own words.
  absl::Status StatusOf(ncclResult_t result) const;
};

// FailedPrecondition: there is no libnccl.so.2, or it is older than 2.14. Thread-safe.
absl::StatusOr<const Nccl*> LoadNccl();

}  // namespace onward::kernels::cuda
