// Kernels that are compiled at run time, each source once in a process for an architecture.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::kernels::cuda {

// Machine code on the device. Stays loaded.
class CompiledKernels {
 public:
  explicit CompiledKernels(cudaLibrary_t library) : library_(library) {}

  // NotFound: the source has no such kernel.
  absl::StatusOr<cudaKernel_t> Find(const std::string& name) const;

 private:
  cudaLibrary_t library_;
};

// Returns null where there is no device, so that a model can be planned there. Unimplemented: NVRTC
// is absent or refuses the source. Thread-safe.
absl::StatusOr<std::shared_ptr<const CompiledKernels>> CompileKernels(
    const std::string& source, const std::vector<std::string>& options);

// Puts a kernel of one argument on the stream.
absl::Status LaunchCompiled(cudaKernel_t kernel, unsigned blocks, unsigned threads,
                            cudaStream_t stream, void* argument);

}  // namespace onward::kernels::cuda
