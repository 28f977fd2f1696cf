#include "kernels/cuda/compiled_kernels.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/code_cache.h"
#include "kernels/cuda/nvrtc.h"
#include "kernels/cuda/status.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

// "sm_90" of the current device; "" where there is none.
absl::StatusOr<std::string> Architecture() {
  int devices = 0, device = 0, major = 0, minor = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    cudaGetLastError();  // so that no later call has this error
    return std::string();
  }
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaGetDevice(&device)));
  ONWARD_RETURN_IF_ERROR(
      ToStatus(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)));
  ONWARD_RETURN_IF_ERROR(
      ToStatus(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device)));
  return absl::StrCat("sm_", major, minor);
}

absl::StatusOr<cudaLibrary_t> Load(const std::string& code) {
  cudaLibrary_t library = nullptr;
  ONWARD_RETURN_IF_ERROR(ToStatus(
      cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0)));
  return library;
}

// From the user's files, else by NVRTC. What a file has need not load: then it is compiled again.
absl::StatusOr<cudaLibrary_t> LoadOrCompile(const std::string& source,
                                            const std::string& architecture,
                                            const std::vector<std::string>& options) {
  ONWARD_ASSIGN_OR_RETURN(const std::string identity, NvrtcIdentity());
  const std::string key =
      absl::StrCat(identity, " ", architecture, " ", absl::StrJoin(options, " "), "\n", source);
  const std::string directory = CodeCacheDirectory();
  if (const std::optional<std::string> kept = ReadCode(directory, key)) {
    if (absl::StatusOr<cudaLibrary_t> library = Load(*kept); library.ok()) return library;
    cudaGetLastError();
  }
  ONWARD_ASSIGN_OR_RETURN(const MachineCode code,
                          CompileToMachineCode(source, architecture, options));
  ONWARD_ASSIGN_OR_RETURN(const cudaLibrary_t library, Load(code.bytes));
  WriteCode(directory, key, code.bytes).IgnoreError();  // a later process compiles it again
  return library;
}

// The result of compiling one source. Different sources compile in parallel.
struct Compiled {
  std::mutex mutex;
  std::optional<absl::StatusOr<cudaLibrary_t>> library;
};

std::shared_ptr<Compiled> CompiledOf(const std::string& key) {
  static std::mutex mutex;
  static auto* all = new std::map<std::string, std::shared_ptr<Compiled>>();
  std::lock_guard lock(mutex);
  std::shared_ptr<Compiled>& compiled = (*all)[key];
  if (compiled == nullptr) compiled = std::make_shared<Compiled>();
  return compiled;
}

}  // namespace

absl::StatusOr<cudaKernel_t> CompiledKernels::Find(const std::string& name) const {
  cudaKernel_t kernel = nullptr;
  if (cudaLibraryGetKernel(&kernel, library_, name.c_str()) == cudaSuccess) return kernel;
  cudaGetLastError();
  return absl::NotFoundError(absl::StrCat("the compiled source has no kernel '", name, "'"));
}

absl::StatusOr<std::shared_ptr<const CompiledKernels>> CompileKernels(
    const std::string& source, const std::vector<std::string>& options) {
  ONWARD_RETURN_IF_ERROR(FindNvrtc());
  ONWARD_ASSIGN_OR_RETURN(const std::string architecture, Architecture());
  if (architecture.empty()) return std::shared_ptr<const CompiledKernels>();
  const std::string key =
      absl::StrCat(architecture, " ", absl::StrJoin(options, " "), "\n", source);
  const std::shared_ptr<Compiled> compiled = CompiledOf(key);
  std::lock_guard lock(compiled->mutex);
  // A source that was refused once is not tried again.
  if (!compiled->library ||
      !(compiled->library->ok() || absl::IsUnimplemented(compiled->library->status())))
    compiled->library = LoadOrCompile(source, architecture, options);
  ONWARD_RETURN_IF_ERROR(compiled->library->status());
  return std::make_shared<CompiledKernels>(**compiled->library);
}

absl::Status LaunchCompiled(cudaKernel_t kernel, unsigned blocks, unsigned threads,
                            cudaStream_t stream, void* argument) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  void* arguments[] = {argument};
  return ToStatus(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments));
}

}  // namespace onward::kernels::cuda
