// Machine code that the provider loads at run time: a shared library of the host.
#include "tests/emulated_cuda/library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <string>

#include "tests/emulated_cuda/state.h"

struct CUkern_st {
  cudaError_t (*launch)(const cudaLaunchConfig_t* config, void** arguments);
};

namespace onward::emulated_cuda {
namespace {

// Null: the loader refuses the bytes. Each library has a path of its own, by which the loader knows
// it.
void* OpenLibrary(const char* bytes, size_t size) {
  std::string path = std::filesystem::temp_directory_path() / "emulated_kernels_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  const bool written = write(file, bytes, size) == static_cast<ssize_t>(size);
  close(file);
  void* library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  return library;
}

}  // namespace
}  // namespace onward::emulated_cuda

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  const Entry entry("cudaLibraryLoadData");
  if (entry.error() != cudaSuccess) return entry.error();
  CodeHead head;
  std::memcpy(&head, code, sizeof(head));
  if (std::memcmp(head.magic, kCodeMagic, sizeof(head.magic)) != 0)
    return Remember(cudaErrorInvalidKernelImage);
  *library = static_cast<cudaLibrary_t>(
      OpenLibrary(static_cast<const char*>(code) + sizeof(head), head.size));
  return *library != nullptr ? cudaSuccess : Remember(cudaErrorInvalidKernelImage);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  const Entry entry("cudaLibraryGetKernel");
  if (entry.error() != cudaSuccess) return entry.error();
  static std::deque<CUkern_st> kernels;
  void* launch = dlsym(library, (std::string(kLaunchPrefix) + name).c_str());
  if (launch == nullptr) return Remember(cudaErrorSymbolNotFound);
  kernels.push_back({reinterpret_cast<decltype(CUkern_st::launch)>(launch)});
  *kernel = &kernels.back();
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments) {
  return static_cast<const CUkern_st*>(kernel)->launch(config, arguments);
}

}  // extern "C"
