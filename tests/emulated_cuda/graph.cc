// Graphs: the work of a stream, captured by one thread and put on streams as a whole.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/stream.h"

struct CUgraph_st {
  std::vector<onward::emulated_cuda::Work> work;
};
struct CUgraphExec_st {
  std::vector<onward::emulated_cuda::Work> work;
};

namespace onward::emulated_cuda {
namespace {

thread_local cudaStream_t captured_stream = nullptr;  // by this thread

}  // namespace

bool InvalidateCaptureOfThread() {
  if (captured_stream == nullptr) return false;
  captured_stream->capture->valid = false;
  return true;
}

}  // namespace onward::emulated_cuda

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

extern "C" {

// The provider captures with cudaStreamCaptureModeThreadLocal.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Entry entry("cudaStreamBeginCapture");
  if (entry.error() != cudaSuccess) return entry.error();
  if (stream == nullptr || !IsStream(stream) || mode != cudaStreamCaptureModeThreadLocal ||
      stream->capture != nullptr || captured_stream != nullptr)
    return Remember(cudaErrorStreamCaptureUnsupported);
  stream->capture = std::make_unique<Capture>();
  captured_stream = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Entry entry("cudaStreamEndCapture");
  *graph = nullptr;
  if (stream != captured_stream || stream == nullptr)
    return Remember(cudaErrorStreamCaptureUnsupported);
  const std::unique_ptr<Capture> capture = std::move(stream->capture);
  captured_stream = nullptr;
  if (entry.error() != cudaSuccess) return entry.error();
  if (!capture->valid) return Remember(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{std::move(capture->work)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  const Entry entry("cudaGraphInstantiate");
  if (entry.error() != cudaSuccess) return entry.error();
  ++GetState().counters.graphs;
  *ready = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const Entry entry("cudaGraphLaunch");
  if (entry.error() != cudaSuccess) return entry.error();
  ++GetState().counters.graph_launches;
  for (const Work& work : graph->work) {
    const cudaError_t error = EnqueueWork(stream, work);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Entry entry("cudaGraphDestroy");
  delete graph;
  return cudaSuccess;
}

// Work of it that a stream holds ends before, as the device's does.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  const Entry entry("cudaGraphExecDestroy");
  delete graph;
  return cudaSuccess;
}

}  // extern "C"
