#include "executors/provider.h"

#include "absl/strings/str_cat.h"

#ifdef ONWARD_CUDA
#include "executors/cuda/cuda_provider.h"
#endif

namespace onward {

absl::StatusOr<const ExecutionProvider*> FindProvider(std::string_view name) {
  if (name == "cpu") return &CpuProvider();
#ifdef ONWARD_CUDA
  if (name == "cuda") return CudaProvider();
#else
  if (name == "cuda") {
    return absl::UnimplementedError(
        "this build has no CUDA provider; build the preset 'cuda' on a machine with nvcc");
  }
#endif
  return absl::InvalidArgumentError(
      absl::StrCat("unknown provider '", std::string(name), "'; known: cpu, cuda"));
}

}  // namespace onward
