// The CUDA provider on device 0, as a library of its own: CUDA's libraries are loaded when a
// session first asks for it, not when the program starts.
#include <cuda_runtime.h>

#include <new>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/status.h"
#include "onward/status.h"
#include "provider_interface.h"

namespace onward::executors {
namespace {

absl::Status FindDevice() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "no CUDA device is usable here (",
      error == cudaSuccess ? "none found" : cudaGetErrorString(error), "); use --provider cpu"));
}

class Cuda : public ExecutionProvider {
 public:
  std::string_view name() const override { return "cuda"; }
  const std::vector<KernelEntry>& kernels() const override { return kernels::CudaKernels(); }

  absl::Status CheckDevice() const override {
    static const absl::Status found = FindDevice();
    return found;
  }

  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    void* memory = nullptr;
    ONWARD_RETURN_IF_ERROR(Annotate(kernels::cuda::ToStatus(cudaMalloc(
                                        &memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)))),
                                    absl::StrCat(bytes, " bytes:")));
    return std::shared_ptr<void>(memory, [](void* p) { cudaFree(p); });
  }

  absl::StatusOr<std::shared_ptr<void>> CreateStream() const override {
    cudaStream_t stream = nullptr;
    ONWARD_RETURN_IF_ERROR(
        kernels::cuda::ToStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
    return std::shared_ptr<void>(stream,
                                 [](void* p) { cudaStreamDestroy(static_cast<cudaStream_t>(p)); });
  }

  Device device() const override { return {Device::Kind::kCuda, 0}; }

  absl::Status Copy(void* to, const void* from, int64_t bytes, CopyKind kind,
                    void* stream) const override {
    const auto direction = kind == CopyKind::kToHost     ? cudaMemcpyDeviceToHost
                           : kind == CopyKind::kToDevice ? cudaMemcpyHostToDevice
                                                         : cudaMemcpyDeviceToDevice;
    if (stream == nullptr)
      return kernels::cuda::ToStatus(cudaMemcpy(to, from, static_cast<size_t>(bytes), direction));
    return kernels::cuda::ToStatus(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), direction,
                                                   static_cast<cudaStream_t>(stream)));
  }

  // The host and the device have one address for it.
  absl::StatusOr<std::shared_ptr<DeviceFault>> AllocateFault() const override {
    void* memory = nullptr;
    ONWARD_RETURN_IF_ERROR(
        kernels::cuda::ToStatus(cudaHostAlloc(&memory, sizeof(DeviceFault), cudaHostAllocMapped)));
    return std::shared_ptr<DeviceFault>(new (memory) DeviceFault(),
                                        [](DeviceFault* p) { cudaFreeHost(p); });
  }

  absl::Status Synchronize(void* stream) const override {
    return kernels::cuda::ToStatus(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  }

  // Other threads may allocate meanwhile.
  absl::Status BeginCapture(void* stream) const override {
    return kernels::cuda::ToStatus(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream),
                                                          cudaStreamCaptureModeThreadLocal));
  }

  absl::StatusOr<std::shared_ptr<void>> EndCapture(void* stream) const override {
    cudaGraph_t graph = nullptr;
    ONWARD_RETURN_IF_ERROR(
        kernels::cuda::ToStatus(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph)));
    cudaGraphExec_t ready = nullptr;
    const absl::Status status = kernels::cuda::ToStatus(cudaGraphInstantiate(&ready, graph, 0));
    cudaGraphDestroy(graph);
    ONWARD_RETURN_IF_ERROR(status);
    return std::shared_ptr<void>(
        ready, [](void* p) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(p)); });
  }

  absl::Status LaunchGraph(void* graph, void* stream) const override {
    return kernels::cuda::ToStatus(
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
  }
};

}  // namespace

}  // namespace onward::executors

extern "C" const char* onward_provider_interface() { return ONWARD_PROVIDER_INTERFACE; }

extern "C" const onward::executors::ExecutionProvider* onward_cuda_provider() {
  static const onward::executors::Cuda provider;
  return &provider;
}
