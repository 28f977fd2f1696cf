#include "graph/infer/body.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/elements.h"
#include "graph/infer/merge.h"
#include "graph/infer/type_proto.h"
#include "graph/infer/walk.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"

namespace onward {
namespace {

// A body is inferred up to kMaxRounds times, and Loops in Loops multiply that.
constexpr int kMaxRounds = 4;
constexpr int kMaxNestedLoops = 2;

// The depth of nested Loops in the graph.
int NestedLoops(const Graph& graph) {
  int depth = 0;
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& subgraph : node.subgraphs) {
      depth = std::max(depth, NestedLoops(*subgraph.graph) + (node.Is("Loop") ? 1 : 0));
    }
  }
  return depth;
}

bool IsEmptySequence(const Graph& graph, ValueId id, const KnownElements& known) {
  if (graph.type(id).kind != Type::Kind::kSequence) return false;
  const auto it = known.find(id.index);
  return it != known.end() && it->second == SymbolicDims{Dim(0)};
}

}  // namespace

absl::Status BodyInferencer::Infer(Graph& body, const std::vector<Type>& input_types,
                                   KnownElements known) {
  for (size_t i = 0; i < input_types.size(); ++i) {
    Type& type = GraphEdit(body).type(body.inputs()[i]);
    AddSymbols(input_types[i], shared_symbols_);
    absl::StatusOr<Type> merged = MergeTypes(type, input_types[i]);
    if (!merged.ok()) {
      return Annotate(merged.status(), absl::StrCat("input ", i, " of '", subgraph_.attribute,
                                                    "' '", body.value(body.inputs()[i]).name, "'"));
    }
    type = *std::move(merged);
  }
  for (size_t i = 0; i < subgraph_.captures.size() && i < body.captures().size(); ++i) {
    const ValueId outer = subgraph_.captures[i];
    const ValueId inner = body.captures()[i];
    GraphEdit(body).type(inner) = outer_.type(outer);
    AddSymbols(outer_.type(outer), shared_symbols_);
    if (std::optional<SymbolicDims> elements = ElementsOf(outer_, outer, known_)) {
      known[inner.index] = *std::move(elements);
    }
  }
  return InferNodes(body, known);
}

absl::StatusOr<bool> BodyInferencer::Widen(const std::vector<Type>& input_types, bool first,
                                           bool last, std::vector<Type>& types) {
  Graph body = *subgraph_.graph;
  std::vector<Type> inputs = input_types;
  std::copy(types.begin(), types.end(), inputs.end() - static_cast<std::ptrdiff_t>(types.size()));
  KnownElements known;
  std::vector<bool> empty(types.size(), false);
  for (size_t i = 0; first && i < types.size(); ++i) {
    if (!IsEmptySequence(outer_, initial_[i], known_)) continue;
    empty[i] = true;
    known[body.inputs()[i + 2].index] = {Dim(0)};
  }
  ONWARD_RETURN_IF_ERROR(Infer(body, inputs, std::move(known)));
  bool stable = true;
  for (size_t i = 0; i < types.size(); ++i) {
    const Type next = KeepSymbols(body.type(body.outputs()[i + 1]), shared_symbols_);
    if (next.kind != types[i].kind)
      return absl::InvalidArgumentError("carried values change their kind");
    // An empty sequence is of any type.
    Type wide = empty[i] ? next : WidenType(types[i], next);
    if (wide == types[i]) continue;
    if (last) ForgetShapes(wide);
    types[i] = std::move(wide);
    stable = false;
  }
  return stable;
}

std::optional<std::vector<Type>> BodyInferencer::FindCarried(std::vector<Type> input_types) {
  const Graph& body = *subgraph_.graph;
  if (initial_.empty() || input_types.size() != initial_.size() + 2 ||
      body.outputs().size() <= initial_.size() || NestedLoops(body) > kMaxNestedLoops) {
    return std::nullopt;
  }
  std::vector<Type> types;
  for (ValueId id : initial_) types.push_back(outer_.type(id));
  for (int round = 0; round <= kMaxRounds; ++round) {
    const absl::StatusOr<bool> stable =
        Widen(input_types, round == 0, round + 1 == kMaxRounds, types);
    if (!stable.ok()) return std::nullopt;
    if (*stable) return types;
  }
  return std::nullopt;
}

std::vector<const onnx::TypeProto*> BodyInferencer::doInferencing(
    const std::vector<const onnx::TypeProto*>& input_types,
    const std::vector<const onnx::TensorProto*>& /*input_data*/) {
  Graph& body = *subgraph_.graph;
  if (body.inputs().size() != input_types.size()) {
    *status_ = absl::InvalidArgumentError(absl::StrCat("'", subgraph_.attribute, "' has ",
                                                       body.inputs().size(), " inputs, but ",
                                                       input_types.size(), " are given"));
    throw onnx::InferenceError(std::string(status_->message()));
  }
  std::vector<Type> types(input_types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (input_types[i] != nullptr) types[i] = TypeFromProto(*input_types[i]);
  }
  carried_ = FindCarried(types);
  if (carried_) std::copy(carried_->begin(), carried_->end(), types.begin() + 2);
  if (absl::Status status = Infer(body, types, {}); !status.ok()) {
    *status_ = status;
    throw onnx::InferenceError(std::string(status.message()));
  }
  outputs_.clear();
  output_types_.clear();
  std::vector<const onnx::TypeProto*> protos;
  for (ValueId id : body.outputs()) {
    outputs_.push_back(KeepSymbols(body.type(id), shared_symbols_));
    TypeToProto(outputs_.back(), &output_types_.emplace_back());
    protos.push_back(&output_types_.back());
  }
  return protos;
}

}  // namespace onward
