// 16-bit floats on devices that compute in float32: chains of ops keep float32 between them, and
// what leaves a chain is rounded. Weights are widened once. Casts between float32 and a chain round
// nothing either: a model under autocast computes as in float32, but for the products of
// Precision::kFast, which round their operands.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/add_cast.h"
#include "graph/rewrite/match.h"
#include "graph/rewrite/patch.h"
#include "onward/small_float.h"
#include "onward/status.h"

namespace onward {

namespace {

bool IsNarrowTensor(const Type& type) { return type.is_tensor() && IsNarrow(type.dtype); }

absl::StatusOr<Tensor> Widened(const Tensor& narrow) {
  ONWARD_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kFloat32, narrow.dims()));
  float* to = wide.mutable_data<float>();
  DispatchDType(TypeList<Float16, BFloat16>(), narrow.dtype(), [&](auto tag) {
    const auto* from = narrow.data<typename decltype(tag)::type>();
    for (int64_t i = 0; i < narrow.num_elements(); ++i) to[i] = static_cast<float>(from[i]);
  });
  return wide;
}

class Widener {
 public:
  explicit Widener(Graph& graph) : graph_(graph) {}

  bool Takes(const Node& node) const {
    if (!node.subgraphs.empty()) return false;
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    const Widening widening = facts == nullptr ? Widening::kNever : facts->widening;
    if (widening == Widening::kComputes) return HasNarrow(node.inputs);
    if (node.Is("Cast"))
      return graph_.type(node.outputs[0]).dtype == DType::kFloat32 && IsWide(node.inputs[0]);
    if (widening != Widening::kMoves) return false;
    bool wide = false;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || !IsNarrowTensor(graph_.type(input))) continue;
      if (FixedConstant(graph_, input) != nullptr) continue;
      if (!IsWide(input)) return false;
      wide = true;
    }
    return wide;
  }

  absl::Status Widen(NodeId id) {
    for (int i = 0; i < static_cast<int>(graph_.node(id).inputs.size()); ++i) {
      const ValueId input = graph_.node(id).inputs[static_cast<size_t>(i)];
      if (!input.valid() || !IsNarrowTensor(graph_.type(input))) continue;
      ONWARD_ASSIGN_OR_RETURN(const ValueId wide, WideOf(input));
      GraphEdit(graph_).SetInput(id, i, wide);
    }
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (const ValueId output : outputs) {
      if (!output.valid() || !IsNarrowTensor(graph_.type(output))) continue;
      GraphEdit(graph_).node(id).metadata[kNarrowKey] = DTypeName(graph_.type(output).dtype);
      Round(output);
    }
    return absl::OkStatus();
  }

 private:
  // The float32 value that a Cast makes `narrow` of, or an invalid id.
  ValueId CastFrom(ValueId narrow) const {
    const ValueId wide = BeforeCast(graph_, narrow);
    return wide.valid() && graph_.type(wide).dtype == DType::kFloat32 ? wide : ValueId();
  }

  bool IsWide(ValueId narrow) const {
    return IsNarrowTensor(graph_.type(narrow)) &&
           (wide_.count(narrow.index) > 0 || CastFrom(narrow).valid());
  }

  bool HasNarrow(const std::vector<ValueId>& values) const {
    return std::any_of(values.begin(), values.end(), [&](ValueId value) {
      return value.valid() && IsNarrowTensor(graph_.type(value));
    });
  }

  absl::StatusOr<ValueId> WideOf(ValueId narrow) {
    const auto found = wide_.find(narrow.index);
    if (found != wide_.end()) return found->second;
    if (const ValueId from = CastFrom(narrow); from.valid()) return wide_[narrow.index] = from;
    const std::string name = graph_.UniqueName(absl::StrCat(graph_.value(narrow).name, "_float32"));
    ValueId wide;
    if (const Tensor* constant = FixedConstant(graph_, narrow); constant != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(Tensor data, Widened(*constant));
      wide = GraphEdit(graph_).AddConstant(name, std::move(data));
    } else {
      Type type = graph_.type(narrow);
      type.dtype = DType::kFloat32;
      wide = GraphEdit(graph_).AddValue(name, std::move(type));
      AddCast(graph_, narrow, wide, "widen_floats");
    }
    wide_[narrow.index] = wide;
    return wide;
  }

  // The output becomes float32; its readers, and the graph's user, read it rounded.
  void Round(ValueId output) {
    const Type type = graph_.type(output);
    const std::string name = graph_.value(output).name;
    GraphEdit(graph_).Rename(output, graph_.UniqueName(absl::StrCat(name, "_float32")));
    const ValueId rounded = GraphEdit(graph_).AddValue(name, type);
    GraphEdit(graph_).ReplaceUses(output, rounded);
    GraphEdit(graph_).type(output).dtype = DType::kFloat32;
    AddCast(graph_, output, rounded, "widen_floats");
    wide_[rounded.index] = output;
  }

  Graph& graph_;
  std::map<int32_t, ValueId> wide_;  // by the index of the narrow value
};

// A CastLike reads a 16-bit float for its dtype alone: as a Cast it does not keep that value alive.
absl::Status CastToKnownDTypes(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!node.Is("CastLike") || !IsNarrowTensor(graph.type(node.inputs[1]))) continue;
    Attributes attributes = node.attributes;
    attributes.Set("to", static_cast<int64_t>(graph.type(node.inputs[1]).dtype));
    Patch patch("cast_to_known_dtype", graph);
    patch.Replace(node.outputs[0], patch.AddNode("Cast", {node.inputs[0]}, std::move(attributes)));
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> WidenFloats(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.excess_precision || budget <= 0) return 0;
  ONWARD_RETURN_IF_ERROR(CastToKnownDTypes(graph));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  Widener widener(graph);
  int widened = 0;
  for (const NodeId id : order) {
    if (budget <= 0) break;
    if (!widener.Takes(graph.node(id))) continue;
    ONWARD_RETURN_IF_ERROR(widener.Widen(id));
    --budget;
    ++widened;
  }
  return widened;
}

}  // namespace onward
