// The CUDA provider.
#pragma once

#include "absl/status/statusor.h"
#include "executors/provider.h"

namespace onward {

// The process's CUDA provider on device 0; FailedPrecondition, with the driver's words, where there
// is no usable device.
absl::StatusOr<const ExecutionProvider*> CudaProvider();

}  // namespace onward
