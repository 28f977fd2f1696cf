// A described graph as descriptors of cuDNN.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cuda/cudnn_descriptor.h"
#include "kernels/cuda/cudnn_graph.h"

namespace onward::kernels::cuda {

struct GraphDescriptors {
  std::vector<BackendDescriptor> tensors, parts, operations;
};
absl::StatusOr<GraphDescriptors> DescribeGraph(const CudnnGraph& graph);

// The name of a tensor for cuDNN.
inline int64_t GraphTensorId(int tensor) { return tensor + 1; }

}  // namespace onward::kernels::cuda
