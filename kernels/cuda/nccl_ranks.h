// Ranks whose tensors lie on GPUs, one each: NCCL sums there, and the ranks' engine for host memory
// does the rest.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "onward/communicator.h"

namespace onward::kernels::cuda {

// Returns once every rank of `host` has called it, each with its GPU as the calling thread's
// current device. Errors of a sum that waits for a rank that is gone are `host`'s. Every rank gets
// Unimplemented, with the reason, where one has no NCCL or two share a GPU.
absl::StatusOr<std::shared_ptr<Communicator>> JoinNccl(std::shared_ptr<Communicator> host,
                                                       Device device);

}  // namespace onward::kernels::cuda
