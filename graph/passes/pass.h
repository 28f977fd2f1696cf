// Passes and the two pipelines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/rewrite/rule.h"
#include "onward/explanation.h"
#include "onward/graph.h"

namespace onward {

// Runs constant expressions for a pass: evaluates one node on constants. Given by the executors, so
// that graph/ needs no kernels.
using EvaluateNode =
    std::function<absl::StatusOr<std::vector<Tensor>>(const Graph& graph, NodeId id)>;

struct PassOptions {
  EvaluateNode evaluate;  // null: constants are not folded
  int64_t max_folded_bytes =
      int64_t{1}
      << 24;  // larger results stay computed at run time, unless they replace larger constants
  int stop_after_patches = -1;  // for bisection of a wrong rewrite; negative: no limit
  // 16-bit floats may stay float32 between ops, sums of 8-bit integers exact between scales,
  // subnormal weights of products may be zeros, and attention fused of its parts gives zeros for a
  // row whose keys are all masked by -inf, where the parts give NaN.
  bool excess_precision = true;
  bool fuses_narrow_floats = false;  // the device has fused ops in floats of 16 bits
  bool narrow_products = false;      // kernels multiply float32 as bfloat16
  bool verify = true;                // the graph is verified after every pass
};

struct Pass {
  std::string_view name;
  // Returns how many patches it applied. `budget` is decremented per patch and stops the pass at 0.
  std::function<absl::StatusOr<int>(Graph& graph, const PassOptions& options, int& budget)> run;
  bool in_bodies = true;  // false: on the outermost graph alone
};

// The passes that leave a graph that any ONNX runtime can run.
std::vector<Pass> PortablePipeline();
// The passes that find the standard's Attention among the parts that exporters write, which
// only some providers run as one kernel. Behind PortablePipeline.
std::vector<Pass> AttentionPipeline();
// The passes that may use `onward` ops, for the CPU or CUDA provider.
std::vector<Pass> DevicePipeline(std::string_view provider);

// Converts PassOptions::stop_after_patches to a budget; no limit is the greatest int.
int PatchBudget(int stop_after_patches);

// Runs passes in order, subgraphs included (a body before the graph around it), verifying after
// each. Outputs keep their order and names, inputs stay; other ids may become stale. An error names
// the pass. `budget` takes the place of options.stop_after_patches, and is less afterwards.
absl::StatusOr<std::vector<PassReport>> RunPasses(Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, int& budget);
absl::StatusOr<std::vector<PassReport>> RunPasses(Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options);
// The same on a model's graph; its updates keep meaning the same inputs and outputs.
absl::StatusOr<std::vector<PassReport>> RunPasses(Model& model, const std::vector<Pass>& passes,
                                                  const PassOptions& options, int& budget);
absl::StatusOr<std::vector<PassReport>> RunPasses(Model& model, const std::vector<Pass>& passes,
                                                  const PassOptions& options);

}  // namespace onward
