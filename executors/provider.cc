#include "executors/provider.h"

#ifdef ONWARD_CUDA
#include <dlfcn.h>
#endif

#include <string>

#include "absl/strings/str_cat.h"

namespace onward {
namespace {

#ifdef ONWARD_CUDA
// Loads the provider's library beside the program once; the library stays loaded.
absl::StatusOr<const ExecutionProvider*> LoadCudaProvider() {
  void* library = dlopen("libonward_cuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA provider cannot be loaded (", dlerror(), "); use --provider cpu"));
  }
  using Entry = const ExecutionProvider* (*)(std::string*);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "onward_cuda_provider"));
  std::string reason = "libonward_cuda.so has no entry point";
  const ExecutionProvider* provider = entry == nullptr ? nullptr : entry(&reason);
  if (provider != nullptr) return provider;
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA device is usable here (", reason, "); use --provider cpu"));
}
#endif

}  // namespace

absl::StatusOr<const ExecutionProvider*> FindProvider(std::string_view name) {
  if (name == "cpu") return &CpuProvider();
#ifdef ONWARD_CUDA
  if (name == "cuda") {
    static const absl::StatusOr<const ExecutionProvider*> provider = LoadCudaProvider();
    return provider;
  }
#else
  if (name == "cuda") {
    return absl::UnimplementedError(
        "this build has no CUDA provider; build it on a machine with nvcc");
  }
#endif
  return absl::InvalidArgumentError(
      absl::StrCat("unknown provider '", std::string(name), "'; known: cpu, cuda"));
}

}  // namespace onward
