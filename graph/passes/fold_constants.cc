#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward {

namespace {

// Ops whose result can be far larger than their inputs.
constexpr std::array<std::string_view, 10> kExpanding = {
    "ConstantOfShape", "Expand", "Tile",    "Range",         "OneHot",
    "Resize",          "Pad",    "EyeLike", "CenterCropPad", "Trilu"};

// A weight that stays quantized is smaller and has faster kernels than its floats.
constexpr std::array<std::string_view, 1> kKept = {"DequantizeLinear"};

bool Foldable(const Graph& graph, const Node& node) {
  if (node.schema == nullptr || !node.subgraphs.empty() || IsRandom(node)) return false;
  if (std::find(kKept.begin(), kKept.end(), node.op_type) != kKept.end()) return false;
  for (ValueId id : node.inputs) {
    if (id.valid() && FixedConstant(graph, id) == nullptr) return false;
  }
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return !id.valid() || graph.type(id).is_tensor(); });
}

// Bytes of constants that nothing else reads.
int64_t BytesGivenBack(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (ValueId id : node.inputs) {
    if (id.valid() && ReadOnce(graph, id)) bytes += graph.constant(id)->byte_size();
  }
  return bytes;
}

int64_t Limit(const Graph& graph, const Node& node, const PassOptions& options) {
  const bool expands =
      std::find(kExpanding.begin(), kExpanding.end(), node.op_type) != kExpanding.end();
  const int64_t limit = expands ? options.max_folded_bytes / 16 : options.max_folded_bytes;
  return std::max(limit, BytesGivenBack(graph, node));
}

// Returns whether the results' sizes, as far as types know them, are within the limit.
bool ExpectedToFit(const Graph& graph, const Node& node, int64_t limit) {
  int64_t total = 0;
  for (ValueId id : node.outputs) {
    if (!id.valid()) continue;
    const Type& type = graph.type(id);
    const std::optional<Dims> dims = type.static_dims();
    if (!dims) {
      if (std::find(kExpanding.begin(), kExpanding.end(), node.op_type) != kExpanding.end()) {
        return false;
      }
      continue;
    }
    const absl::StatusOr<int64_t> bytes = CheckedByteSize(type.dtype, *dims);
    if (!bytes.ok() || *bytes > limit - total) return false;
    total += *bytes;
  }
  return true;
}

}  // namespace

absl::StatusOr<int> FoldConstants(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.evaluate) return 0;
  int patches = 0;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  for (NodeId id : order) {
    if (budget <= 0) break;
    if (!graph.alive(id) || !Foldable(graph, graph.node(id))) continue;
    const Node& node = graph.node(id);
    const int64_t limit = Limit(graph, node, options);
    if (!ExpectedToFit(graph, node, limit)) continue;
    // A node that cannot be evaluated stays, and says why when it runs.
    absl::StatusOr<std::vector<Tensor>> results = options.evaluate(graph, id);
    if (!results.ok()) continue;
    int64_t bytes = 0;
    for (const Tensor& tensor : *results) bytes += tensor.empty() ? 0 : tensor.byte_size();
    if (bytes > limit) continue;
    Patch patch(absl::StrCat("fold_constants @ ", graph.Describe(id)), graph);
    for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid() || (graph.users(output).empty() && !graph.is_output(output))) continue;
      patch.Replace(output, patch.AddConstant("", std::move((*results)[i])));
    }
    if (patch.empty()) continue;
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    --budget;
    ++patches;
  }
  return patches;
}

}  // namespace onward
