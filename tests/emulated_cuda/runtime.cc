// The CUDA runtime's functions that the provider calls, on the emulated device.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/emulated_cuda/stream.h"

// Calls that may be made to fail begin with it.
#define ENTER(call)        \
  const Entry entry(call); \
  if (entry.error() != cudaSuccess) return entry.error()

namespace onward::emulated_cuda {
namespace {

thread_local int current_device = 0;

const char* Words(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorInvalidKernelImage:
      return "device kernel image is invalid";
    default:
      return "an emulated error";
  }
}

}  // namespace

int CurrentDevice() { return current_device; }

}  // namespace onward::emulated_cuda

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

extern "C" {

const char* cudaGetErrorString(cudaError_t error) { return Words(error); }
cudaError_t cudaGetLastError() { return LastError(/*forget=*/true); }
cudaError_t cudaPeekAtLastError() { return LastError(/*forget=*/false); }

cudaError_t cudaGetDeviceCount(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = GetState().settings.devices;
  return *count > 0 ? cudaSuccess : Remember(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  ENTER("cudaSetDevice");
  if (device < 0 || device >= GetState().settings.devices) return Remember(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  ENTER("cudaGetDevice");
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* place, int length, int device) {
  ENTER("cudaDeviceGetPCIBusId");
  if (device < 0 || device >= GetState().settings.devices) return Remember(cudaErrorInvalidDevice);
  std::snprintf(place, static_cast<size_t>(length), "0000:%02x:00.0", device);
  return cudaSuccess;
}

// The architecture of an A100.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  ENTER("cudaDeviceGetAttribute");
  if (attribute == cudaDevAttrComputeCapabilityMajor) return *value = 8, cudaSuccess;
  if (attribute == cudaDevAttrComputeCapabilityMinor) return *value = 0, cudaSuccess;
  return Remember(cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  ENTER("cudaMalloc");
  if (InvalidateCaptureOfThread()) return Remember(cudaErrorStreamCaptureUnsupported);
  ++GetState().counters.allocations;
  return AllocateDevice(memory, bytes);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  ENTER("cudaMemGetInfo");
  const State& state = GetState();
  *total = static_cast<size_t>(state.settings.memory);
  *free = static_cast<size_t>(state.settings.memory - state.counters.bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  ENTER("cudaFree");
  if (InvalidateCaptureOfThread()) return Remember(cudaErrorStreamCaptureUnsupported);
  ++GetState().counters.frees;
  return FreeDevice(memory);
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER("cudaHostAlloc");
  *memory = std::calloc(1, bytes);
  return *memory != nullptr ? cudaSuccess : Remember(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* memory) {
  ENTER("cudaFreeHost");
  FinishAll();
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  ENTER("cudaStreamCreateWithFlags");
  return CreateStream(stream, (flags & cudaStreamNonBlocking) == 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ENTER("cudaStreamDestroy");
  return DestroyStream(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  ++GetState().counters.synchronizations;
  return Finish(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ENTER("cudaStreamQuery");
  if (!IsStream(stream)) return Remember(cudaErrorInvalidResourceHandle);
  return Advance(stream) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize() {
  ENTER("cudaDeviceSynchronize");
  ++GetState().counters.synchronizations;
  FinishAll();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  ENTER("cudaMemcpy");
  return Copy(to, from, bytes, kind, nullptr, /*synchronous=*/true);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  return Copy(to, from, bytes, kind, stream, /*synchronous=*/false);
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  if (bytes == 0) return cudaSuccess;
  if (!IsAllocated(memory, bytes)) return Remember(cudaErrorInvalidValue);
  return Enqueue(stream, "cudaMemsetAsync", [=] { std::memset(memory, value, bytes); });
}

}  // extern "C"
