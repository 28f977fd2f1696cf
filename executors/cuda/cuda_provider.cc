// The CUDA provider of each device, as a library of its own: CUDA's libraries are loaded when a
// session first asks for it, not when the program starts.
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/nccl_ranks.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "onward/status.h"
#include "provider_interface.h"

namespace onward::executors {
namespace {

using kernels::cuda::CudaStream;
using kernels::cuda::HandleOf;
using kernels::cuda::ToStatus;

// Owns the graph.
class CudaGraph : public RecordedWork {
 public:
  explicit CudaGraph(cudaGraphExec_t handle) : handle_(handle) {}
  ~CudaGraph() override { cudaGraphExecDestroy(handle_); }
  cudaGraphExec_t handle() const { return handle_; }

 private:
  const cudaGraphExec_t handle_;
};

absl::Status FindDevice(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && device < count) return absl::OkStatus();
  if (error == cudaSuccess && count > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no device cuda:", device, " here: the last one is cuda:", count - 1,
                     " (`onward launch` gives each process of a host a device of its own)"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no CUDA device is usable here (",
      error == cudaSuccess ? "none found" : cudaGetErrorString(error), "); use --provider cpu"));
}

class Cuda : public ExecutionProvider {
 public:
  explicit Cuda(int index) : index_(index) {}
  std::string_view name() const override { return "cuda"; }
  const std::vector<KernelEntry>& kernels() const override { return kernels::CudaKernels(); }

  absl::Status CheckDevice() const override {
    std::call_once(looked_, [this] { found_ = FindDevice(index_); });
    return found_;
  }
  Device device() const override { return {Device::Kind::kCuda, static_cast<uint8_t>(index_)}; }
  absl::Status MakeCurrent() const override { return ToStatus(cudaSetDevice(index_)); }
  absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks(
      std::shared_ptr<Communicator> ranks) const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    return kernels::cuda::JoinNccl(std::move(ranks), device());
  }

  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (error == cudaErrorMemoryAllocation) return OutOfMemory(bytes);
    ONWARD_RETURN_IF_ERROR(ToStatus(error));
    return std::shared_ptr<void>(memory, [](void* p) { cudaFree(p); });
  }

  absl::StatusOr<std::shared_ptr<Stream>> CreateStream() const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    cudaStream_t stream = nullptr;
    ONWARD_RETURN_IF_ERROR(ToStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
    return std::make_shared<CudaStream>(stream);
  }

  absl::Status Copy(void* to, const void* from, int64_t bytes, CopyKind kind,
                    Stream* stream) const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    const auto direction = kind == CopyKind::kToHost     ? cudaMemcpyDeviceToHost
                           : kind == CopyKind::kToDevice ? cudaMemcpyHostToDevice
                                                         : cudaMemcpyDeviceToDevice;
    if (stream == nullptr)
      return ToStatus(cudaMemcpy(to, from, static_cast<size_t>(bytes), direction));
    return ToStatus(
        cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), direction, HandleOf(stream)));
  }

  // The host and the device have one address for it.
  absl::StatusOr<std::shared_ptr<kernels::DeviceRun>> AllocateRun() const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    void* memory = nullptr;
    ONWARD_RETURN_IF_ERROR(
        ToStatus(cudaHostAlloc(&memory, sizeof(kernels::DeviceRun), cudaHostAllocMapped)));
    return std::shared_ptr<kernels::DeviceRun>(new (memory) kernels::DeviceRun(),
                                               [](kernels::DeviceRun* p) { cudaFreeHost(p); });
  }

  absl::Status Synchronize(Stream* stream) const override {
    ONWARD_RETURN_IF_ERROR(MakeCurrent());
    return ToStatus(cudaStreamSynchronize(HandleOf(stream)));
  }

  // Other threads may allocate meanwhile.
  absl::Status BeginCapture(Stream* stream) const override {
    return ToStatus(cudaStreamBeginCapture(HandleOf(stream), cudaStreamCaptureModeThreadLocal));
  }

  absl::StatusOr<std::unique_ptr<RecordedWork>> EndCapture(Stream* stream) const override {
    cudaGraph_t graph = nullptr;
    ONWARD_RETURN_IF_ERROR(ToStatus(cudaStreamEndCapture(HandleOf(stream), &graph)));
    cudaGraphExec_t ready = nullptr;
    const absl::Status status = ToStatus(cudaGraphInstantiate(&ready, graph, 0));
    cudaGraphDestroy(graph);
    ONWARD_RETURN_IF_ERROR(status);
    return std::make_unique<CudaGraph>(ready);
  }

  absl::Status Launch(const RecordedWork& work, Stream* stream) const override {
    return ToStatus(
        cudaGraphLaunch(static_cast<const CudaGraph&>(work).handle(), HandleOf(stream)));
  }

 private:
  absl::Status OutOfMemory(int64_t bytes) const {
    std::string text =
        absl::StrCat("cuda:", index_, " is out of memory: ", bytes, " bytes are needed");
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess)
      absl::StrAppend(&text, ", and ", free, " of its ", total, " are free");
    return absl::ResourceExhaustedError(absl::StrCat(
        text, "; smaller inputs or batches need less, and --provider cpu has the host's memory"));
  }

  const int index_;
  mutable std::once_flag looked_;
  mutable absl::Status found_;
};

const Cuda* CudaOf(int device) {
  static std::mutex mutex;
  static std::map<int, Cuda> providers;
  const std::lock_guard lock(mutex);
  return &providers.try_emplace(device, device).first->second;
}

}  // namespace

}  // namespace onward::executors

extern "C" const char* onward_provider_interface() { return ONWARD_PROVIDER_INTERFACE; }

extern "C" const onward::executors::ExecutionProvider* onward_cuda_provider(int device) {
  return onward::executors::CudaOf(device);
}
