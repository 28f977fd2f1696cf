// CUDA's streams, and the one of a run.
#pragma once

#include <cuda_runtime.h>

#include "onward/kernel.h"

namespace onward::kernels::cuda {

// Owns the stream.
class CudaStream : public Stream {
 public:
  explicit CudaStream(cudaStream_t handle) : handle_(handle) {}
  ~CudaStream() override { cudaStreamDestroy(handle_); }
  void* native_handle() const override { return handle_; }

 private:
  const cudaStream_t handle_;
};

// `stream`: of the CUDA provider, or null: the device's default stream.
inline cudaStream_t HandleOf(const Stream* stream) {
  return stream == nullptr ? nullptr : static_cast<cudaStream_t>(stream->native_handle());
}

inline cudaStream_t StreamOf(const RunContext& context) {
  return HandleOf(context.services()->stream());
}

}  // namespace onward::kernels::cuda
