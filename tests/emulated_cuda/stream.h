// A stream of the emulated device.
#pragma once

#include <deque>
#include <functional>

#include "tests/emulated_cuda/state.h"

namespace onward::emulated_cuda {

struct Work {
  const char* name;
  std::function<void()> run;
};

bool IsStream(cudaStream_t stream);
cudaError_t CreateStream(cudaStream_t* stream, bool blocking);
cudaError_t DestroyStream(cudaStream_t stream);

}  // namespace onward::emulated_cuda

struct CUstream_st {
  std::deque<onward::emulated_cuda::Work> queue;
  bool blocking = true;  // waits for the legacy stream
};
