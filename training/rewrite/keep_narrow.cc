#include "training/rewrite/keep_narrow.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/add_cast.h"
#include "onward/expr.h"
#include "onward/status.h"
#include "training/rewrite/recompute.h"

namespace onward::training {
namespace {

constexpr int64_t kLeastBytes = 64 * 1024;  // less does not pay for the rounding

// Ops of the domain `onward` whose first input may be of 16 bits beside float32 ones.
constexpr std::string_view kTakesNarrow[] = {
    "BatchNormalizationGradient", "ClipGradient",    "ConvWeightGradient",
    "LayerNormalizationGradient", "MaxPoolGradient", "ReluGradient"};

bool ReadsNarrow(const Node& node, ValueId value) {
  return node.domain == kOnwardDomain && node.subgraphs.empty() &&
         std::find(std::begin(kTakesNarrow), std::end(kTakesNarrow), node.op_type) !=
             std::end(kTakesNarrow) &&
         std::count(node.inputs.begin(), node.inputs.end(), value) == 1 && node.inputs[0] == value;
}

bool IsLarge(const Type& type) {
  const std::optional<Dims> dims = type.static_dims();
  return !dims || ByteSize(type.dtype, NumElements(*dims)) >= kLeastBytes;
}

class Keeper {
 public:
  Keeper(Graph& graph, const std::vector<NodeId>& forward)
      : graph_(graph), forward_(forward.begin(), forward.end()) {}

  // Returns how many outputs of the producer are rounded.
  absl::StatusOr<int> Keep(NodeId producer, int& budget) {
    int rounded = 0;
    const Metadata& metadata = graph_.node(producer).metadata;
    const auto narrow = metadata.find(kNarrowKey);
    if (narrow == metadata.end()) return rounded;
    const std::optional<DType> dtype = DTypeFromName(narrow->second);
    const std::vector<ValueId> outputs = graph_.node(producer).outputs;
    for (const ValueId output : outputs) {
      if (budget <= 0 || !dtype || !output.valid() || graph_.is_output(output)) continue;
      const Type& type = graph_.type(output);
      if (!type.is_tensor() || type.dtype != DType::kFloat32 || !IsLarge(type)) continue;
      ONWARD_ASSIGN_OR_RETURN(const bool is_rounded, Round(output, *dtype));
      rounded += is_rounded;
      budget -= is_rounded;
    }
    return rounded;
  }

 private:
  absl::StatusOr<bool> Round(ValueId wide, DType dtype) {
    std::vector<NodeId> readers, late;
    for (const NodeId user : graph_.users(wide)) {
      if (forward_.count(user) > 0) {
        readers.push_back(user);
      } else if (ReadsNarrow(graph_.node(user), wide)) {
        late.push_back(user);
      } else {
        return false;
      }
    }
    if (late.empty()) return false;
    Type type = graph_.type(wide);
    type.dtype = dtype;
    const std::string kept = absl::StrCat(graph_.value(wide).name, "/kept");
    const ValueId narrow = GraphEdit(graph_).AddValue(graph_.UniqueName(kept), std::move(type));
    const std::string producer = graph_.node(graph_.value(wide).producer).name;
    // By its name what is computed again is chosen: so are the nodes that are its own.
    GraphEdit(graph_).node(AddCast(graph_, wide, narrow, "keep_narrow")).name = producer;
    for (const NodeId reader : late) GraphEdit(graph_).SetInput(reader, 0, narrow);
    if (readers.empty()) return true;
    // The forward pass waits until the value is rounded; then its memory may go.
    GraphSink sink(graph_, absl::StrCat(kept, "/"));
    const Expr after = sink.Op("After", {sink.Value(wide), sink.Value(narrow)}, {}, kOnwardDomain);
    ONWARD_RETURN_IF_ERROR(sink.status());
    GraphEdit(graph_).node(graph_.value(after.id()).producer).name = producer;
    for (const NodeId reader : readers) Retarget(reader, wide, after.id());
    return true;
  }

  void Retarget(NodeId reader, ValueId from, ValueId to) {
    for (size_t i = 0; i < graph_.node(reader).inputs.size(); ++i) {
      if (graph_.node(reader).inputs[i] == from)
        GraphEdit(graph_).SetInput(reader, static_cast<int>(i), to);
    }
  }

  Graph& graph_;
  const std::set<NodeId> forward_;
};

}  // namespace

absl::StatusOr<int> KeepNarrow(Graph& graph, ValueId loss, int& budget) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> forward, ForwardNodes(graph, loss));
  Keeper keeper(graph, forward);
  int patches = 0;
  for (const NodeId id : forward) {
    ONWARD_ASSIGN_OR_RETURN(const int rounded, keeper.Keep(id, budget));
    patches += rounded;
  }
  return patches;
}

}  // namespace onward::training
