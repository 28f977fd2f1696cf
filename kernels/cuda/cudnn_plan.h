// Plans of cuDNN for graphs of its operations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/cudnn_descriptor.h"
#include "kernels/cuda/cudnn_graph.h"

namespace onward::kernels::cuda {

struct PlanDemands {
  // Float32 loses bits there, which Precision::kFast allows; products of 16-bit floats do not.
  bool tensor_cores = true;
  // A plan that needs more is taken only where all do.
  int64_t most_workspace = int64_t{256} << 20;
};

// The first of cuDNN's plans, in the order of its heuristics, whose sums have one order. Threads
// share it.
class CudnnPlan {
 public:
  // For the calling thread's device, or for the one that `device` describes in JSON, as cuDNN's
  // CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it, on which it cannot run. Unimplemented: cuDNN
  // refuses the graph.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>> Make(const CudnnGraph& graph,
                                                         const PlanDemands& demands,
                                                         const std::string* device = nullptr);

  int64_t workspace() const { return workspace_; }
  // `memory` has the addresses of the graph's tensors in memory, in their order. Those and the
  // workspace are multiples of 16.
  absl::Status Run(absl::Span<const void* const> memory, void* workspace,
                   cudaStream_t stream) const;

 private:
  struct Value {
    alignas(8) char bytes[8];
  };

  BackendDescriptor engine_;  // that the plan refers to
  BackendDescriptor plan_;
  int64_t workspace_ = 0;
  std::vector<int64_t> ids_;  // of tensors in memory, then of values
  std::vector<Value> values_;
};

// The plan of the calling thread's device, made when the graph is first asked for and kept for the
// life of the process, since recorded work (executors/captured_steps) may hold its code.
absl::StatusOr<const CudnnPlan*> PlanGraph(const CudnnGraph& graph, const PlanDemands& demands);

}  // namespace onward::kernels::cuda
