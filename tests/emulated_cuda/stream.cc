// Streams: queues of work that is done when the order of the settings says so. What the host may
// rely on is what CUDA documents ("API synchronization behavior" of the runtime's manual).
#include "tests/emulated_cuda/stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace onward::emulated_cuda {
namespace {

struct Streams {
  CUstream_st legacy;
  std::vector<CUstream_st*> created;
};

Streams& Get() {
  static auto* const streams = new Streams;
  return *streams;
}

CUstream_st* Of(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy ? &Get().legacy : stream;
}

bool RunOne(CUstream_st* stream) {
  if (stream->queue.empty()) return false;
  if (stream->queue.front().is_ready && !stream->queue.front().is_ready()) return false;
  const Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  const MemoryOpen open;
  work.run();
  CheckFences(work.name);
  return true;
}

void RunWhatIsReady(CUstream_st* stream) {
  if (stream->queue.empty()) return;
  const MemoryOpen open;
  while (RunOne(stream)) {
  }
}

void Drain(CUstream_st* stream) {
  for (;;) {
    RunWhatIsReady(stream);
    if (stream->queue.empty()) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// The legacy stream waits for streams that block and they wait for it; the others do not.
void DrainOthersBefore(CUstream_st* stream) {
  Streams& streams = Get();
  if (stream == &streams.legacy) {
    for (CUstream_st* other : streams.created)
      if (other->blocking) Drain(other);
  } else if (stream->blocking) {
    Drain(&streams.legacy);
  }
}

}  // namespace

bool IsStream(cudaStream_t stream) {
  const std::vector<CUstream_st*>& created = Get().created;
  return Of(stream) == &Get().legacy ||
         std::find(created.begin(), created.end(), stream) != created.end();
}

cudaError_t CreateStream(cudaStream_t* stream, bool blocking) {
  *stream = new CUstream_st;
  (*stream)->blocking = blocking;
  (*stream)->device = CurrentDevice();
  Get().created.push_back(*stream);
  return cudaSuccess;
}

cudaError_t DestroyStream(cudaStream_t stream) {
  std::vector<CUstream_st*>& created = Get().created;
  const auto found = std::find(created.begin(), created.end(), stream);
  if (found == created.end()) return Remember(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) Fault("a stream is destroyed while it is captured");
  Drain(stream);
  created.erase(found);
  delete stream;
  return cudaSuccess;
}

cudaError_t Enqueue(cudaStream_t stream, const char* name, std::function<void()> work) {
  return EnqueueWork(stream, Work{name, std::move(work)});
}

cudaError_t EnqueueWork(cudaStream_t stream, Work work) {
  if (!IsStream(stream) || (stream != nullptr && Of(stream)->device != CurrentDevice()))
    return Remember(cudaErrorInvalidResourceHandle);
  if (Capture* capture = Of(stream)->capture.get(); capture != nullptr) {
    capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  Of(stream)->queue.push_back(std::move(work));
  if (GetState().settings.order == Order::kEager) {
    DrainOthersBefore(Of(stream));
    RunWhatIsReady(Of(stream));
  }
  return cudaSuccess;
}

bool Advance(cudaStream_t stream) {
  RunOne(Of(stream));
  return Of(stream)->queue.empty();
}

cudaError_t Finish(cudaStream_t stream) {
  if (!IsStream(stream)) return Remember(cudaErrorInvalidResourceHandle);
  if (Capture* capture = Of(stream)->capture.get(); capture != nullptr) {
    capture->valid = false;
    return Remember(cudaErrorStreamCaptureUnsupported);
  }
  DrainOthersBefore(Of(stream));
  Drain(Of(stream));
  return cudaSuccess;
}

void FinishAll() {
  Drain(&Get().legacy);
  for (CUstream_st* stream : Get().created) Drain(stream);
}

void RunSomeAtRandom() {
  std::mt19937_64& random = GetState().random;
  std::vector<CUstream_st*> streams = Get().created;
  streams.push_back(&Get().legacy);
  for (uint64_t turns = random() % 3; turns > 0; --turns)
    RunOne(streams[random() % streams.size()]);
}

cudaError_t Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                 bool synchronous) {
  if (bytes == 0) return cudaSuccess;
  Counters& counters = GetState().counters;
  const bool to_device = IsDeviceAddress(to), from_device = IsDeviceAddress(from);
  const bool as_said =
      kind == cudaMemcpyDefault ||
      (to_device == (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
       from_device == (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice));
  if (!as_said || (to_device && !IsAllocated(to, bytes)) ||
      (from_device && !IsAllocated(from, bytes)))
    return Remember(cudaErrorInvalidValue);
  const auto move = [=] { std::memmove(to, from, bytes); };
  if (from_device && to_device) return Enqueue(stream, "a copy on the device", move);
  // The host's memory is another one in the next run.
  if (IsStream(stream) && Of(stream)->capture != nullptr)
    Fault("a copy from or to the host is captured");
  if (from_device) {
    ++counters.copies_to_host;
    const cudaError_t error = Enqueue(stream, "a copy to the host", move);
    return error == cudaSuccess ? Finish(stream) : error;  // memory that is pageable waits
  }
  ++counters.copies_to_device;
  // Pageable memory is read before the call returns; the device may have it later.
  if (synchronous) {
    if (const cudaError_t error = Finish(stream); error != cudaSuccess) return error;
  }
  const auto* begin = static_cast<const std::byte*>(from);
  return Enqueue(stream, "a copy to the device",
                 [to, staged = std::vector<std::byte>(begin, begin + bytes)] {
                   std::memcpy(to, staged.data(), staged.size());
                 });
}

}  // namespace onward::emulated_cuda
