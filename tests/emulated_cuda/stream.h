// A stream of the emulated device.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tests/emulated_cuda/state.h"

namespace onward::emulated_cuda {

struct Work {
  const char* name;
  std::function<void()> run;
  std::function<bool()> is_ready = nullptr;  // null: always; false while it waits for other ranks
};

// The work that a stream holds back while it is captured.
struct Capture {
  std::vector<Work> work;
  bool valid = true;
};

bool IsStream(cudaStream_t stream);
cudaError_t EnqueueWork(cudaStream_t stream, Work work);
// Does one piece of its work, if there is one that is ready; returns whether all is done.
bool Advance(cudaStream_t stream);
cudaError_t CreateStream(cudaStream_t* stream, bool blocking);
cudaError_t DestroyStream(cudaStream_t stream);
// Makes the capture of the calling thread fail; false where it captures nothing.
bool InvalidateCaptureOfThread();

}  // namespace onward::emulated_cuda

struct CUstream_st {
  int device = 0;
  std::deque<onward::emulated_cuda::Work> queue;
  bool blocking = true;  // waits for the legacy stream
  std::unique_ptr<onward::emulated_cuda::Capture> capture;
};
