#include "graph/infer/independent_rows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/infer/walk.h"
#include "graph/ops/facts.h"
#include "graph/ops/row_rules.h"
#include "onward/status.h"

namespace onward {
namespace {

using Kind = Rows::Kind;

absl::Status Dependent(const std::string& what) { return absl::FailedPreconditionError(what); }

bool HasAxis(const Rows& rows) {
  return rows.kind == Kind::kAlong || rows.kind == Kind::kPlace || rows.kind == Kind::kIndex;
}

// Ops that move a row's number with its row.
bool MovesPlaces(const Node& node) {
  constexpr std::string_view kOps[] = {"Cast",    "Expand",    "Identity", "Reshape",
                                       "Squeeze", "Transpose", "Unsqueeze"};
  return node.domain.empty() &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

class RowWalk {
 public:
  RowWalk(const Graph& graph, const KnownElements& known)
      : graph_(graph),
        known_(known),
        rows_(static_cast<size_t>(graph.num_values())),
        causes_(static_cast<size_t>(graph.num_values())) {}

  absl::Status Walk() {
    ONWARD_RETURN_IF_ERROR(TakeInputs());
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    for (const NodeId id : order) WalkNode(id);
    for (const ValueId output : graph_.outputs()) {
      const Rows& rows = Of(output);
      if (rows.kind == Kind::kMixed) return CauseOf(output);
      if (rows.kind != Kind::kAlong || rows.axis != 0 || FirstDim(output) != batch_)
        return Dependent(absl::StrCat("output '", graph_.value(output).name,
                                      "' does not have a row for each row of the inputs"));
    }
    return absl::OkStatus();
  }

 private:
  Rows& Of(ValueId id) { return rows_[static_cast<size_t>(id.index)]; }

  Dim FirstDim(ValueId id) const {
    const Type& type = graph_.type(id);
    return type.is_tensor() && type.shape && !type.shape->empty() ? type.shape->front() : Dim();
  }

  absl::Status TakeInputs() {
    for (const ValueId input : graph_.inputs()) {
      if (graph_.is_constant(input)) continue;  // a default that requests may not replace
      const Dim dim = FirstDim(input);
      if (!dim.symbolic() || DimSymbols(dim).size() != 1 ||
          dim != SymbolDim(DimSymbols(dim).front()))
        return Dependent(
            absl::StrCat("input '", graph_.value(input).name,
                         "' has no first dim that varies: ", graph_.type(input).ToString()));
      if (batch_.symbolic() && dim != batch_)
        return Dependent(absl::StrCat("the first dims of the inputs differ: ", batch_.expression(),
                                      " and ", dim.expression()));
      batch_ = dim;
      Of(input) = Rows::Along(0);
    }
    if (!batch_.symbolic()) return Dependent("the model has no inputs");
    return absl::OkStatus();
  }

  bool HasBatch(const Dim& dim) const {
    const std::vector<std::string> own = DimSymbols(dim);
    return std::find(own.begin(), own.end(), DimSymbols(batch_).front()) != own.end();
  }

  // Returns whether the value's dims are those that its rows ask for.
  bool Fits(ValueId id, const Rows& rows) const {
    const Type& type = graph_.type(id);
    if (!type.is_tensor() || !type.shape) return false;
    for (size_t i = 0; i < type.shape->size(); ++i) {
      const Dim& dim = (*type.shape)[i];
      if (dim.unknown()) return false;
      const bool along = HasAxis(rows) && static_cast<int64_t>(i) == rows.axis;
      if (!along && HasBatch(dim)) return false;
      if (!along) continue;
      const Dim factor = DimFloorDiv(dim, batch_);
      if (factor.unknown() || HasBatch(factor) || DimMul(factor, batch_) != dim) return false;
    }
    return !HasAxis(rows) || rows.axis < static_cast<int64_t>(type.shape->size());
  }

  // Takes the count of a node none of whose inputs has rows along an axis.
  void TakeCount(NodeId id, bool by_number) {
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      bool counts = by_number;
      const auto elements = known_.find(output.index);
      if (elements != known_.end()) {
        counts = std::any_of(elements->second.begin(), elements->second.end(),
                             [&](const Dim& dim) { return dim.unknown() || HasBatch(dim); });
      }
      Of(output).kind = counts ? Kind::kCount : Kind::kNone;
      if (Fits(output, {})) continue;
      const auto axis = AxisOfBatch(output);
      if (CountsRows(node) && Fits(output, Rows::Along(0))) {
        Of(output) = {Kind::kPlace, 0};
      } else if (axis && IsFilled(node) && Fits(output, Rows::Along(*axis))) {
        Of(output) = Rows::Along(*axis);
      } else {
        Mix(output, id);
      }
    }
  }

  // Returns whether all elements are one element, or its rows are.
  bool IsFilled(const Node& node) {
    return node.Is("ConstantOfShape") ||
           (node.Is("Expand") && Of(node.inputs[0]).kind == Kind::kNone);
  }

  // 0, 1, 2, ... for as many rows as there are.
  bool CountsRows(const Node& node) const {
    if (!node.Is("Range")) return false;
    const auto is = [&](size_t i, int64_t number) {
      const Tensor* tensor = graph_.constant(node.inputs[i]);
      return tensor != nullptr && tensor->num_elements() == 1 &&
             (tensor->dtype() == DType::kInt64 || tensor->dtype() == DType::kInt32) &&
             ToInt64(tensor->view())[0] == number;
    };
    return is(0, 0) && is(2, 1) && FirstDim(node.outputs[0]) == batch_;
  }

  std::optional<int64_t> AxisOfBatch(ValueId id) const {
    const Type& type = graph_.type(id);
    if (!type.is_tensor() || !type.shape) return std::nullopt;
    for (size_t i = 0; i < type.shape->size(); ++i)
      if (HasBatch((*type.shape)[i])) return static_cast<int64_t>(i);
    return std::nullopt;
  }

  void Mix(ValueId output, NodeId cause) {
    Of(output).kind = Kind::kMixed;
    causes_[static_cast<size_t>(output.index)] = cause;
  }
  void MixAll(NodeId id, NodeId cause) {
    for (const ValueId output : graph_.node(id).outputs)
      if (output.valid()) Mix(output, cause);
  }

  absl::Status CauseOf(ValueId output) const {
    const NodeId cause = causes_[static_cast<size_t>(output.index)];
    const OpFacts* facts = FindFacts(graph_.node(cause).op_type, graph_.node(cause).domain);
    if (facts != nullptr && facts->random)
      return Dependent(
          absl::StrCat(graph_.Describe(cause), " draws by a row's place in the batch"));
    return Dependent(absl::StrCat("rows may influence each other in ", graph_.Describe(cause)));
  }

  std::vector<ValueId> ReadBy(const Node& node) const {
    std::vector<ValueId> read = node.inputs;
    for (const Subgraph& subgraph : node.subgraphs)
      read.insert(read.end(), subgraph.captures.begin(), subgraph.captures.end());
    return read;
  }

  void WalkNode(NodeId id) {
    const Node& node = graph_.node(id);
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (facts != nullptr && facts->random && facts->rows == nullptr) return MixAll(id, id);
    std::vector<Rows> inputs;
    bool has_rows = false, has_count = false;
    ValueId mixed;
    for (const ValueId read : ReadBy(node)) {
      inputs.push_back(read.valid() ? Of(read) : Rows());
      has_rows |= HasAxis(inputs.back());
      has_count |= inputs.back().kind == Kind::kCount;
      if (inputs.back().kind == Kind::kMixed) mixed = read;
    }
    if ((has_rows || mixed.valid()) && facts != nullptr && facts->reads_shape_only)
      return TakeCount(id, true);
    if (mixed.valid()) return MixAll(id, causes_[static_cast<size_t>(mixed.index)]);
    if (!has_rows) return TakeCount(id, has_count);
    if (facts == nullptr || facts->rows == nullptr || !node.subgraphs.empty())
      return MixAll(id, id);
    TakeRows(id, *facts, std::move(inputs));
  }

  void TakeRows(NodeId id, const OpFacts& facts, std::vector<Rows> inputs) {
    const Node& node = graph_.node(id);
    const bool moves_place = inputs[0].kind == Kind::kPlace && MovesPlaces(node);
    if (moves_place) inputs[0].kind = Kind::kAlong;
    const bool indexes = node.Is("Concat") || node.Is("GatherND");
    for (const Rows& each : inputs)
      if (!indexes && (each.kind == Kind::kPlace || each.kind == Kind::kIndex))
        return MixAll(id, id);
    const RowNode at{graph_, node, inputs, batch_};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const std::optional<Rows> rows = facts.rows(at, i);
      if (!rows || !Fits(node.outputs[i], *rows)) {
        Mix(node.outputs[i], id);
        continue;
      }
      Of(node.outputs[i]) = *rows;
      if (moves_place) Of(node.outputs[i]).kind = Kind::kPlace;
    }
  }

  const Graph& graph_;
  const KnownElements& known_;
  std::vector<Rows> rows_;
  std::vector<NodeId> causes_;  // of what is mixed
  Dim batch_;
};

}  // namespace

absl::Status CheckRowsAreIndependent(const Graph& graph) {
  Graph inferred = graph;
  KnownElements known;
  ONWARD_RETURN_IF_ERROR(InferNodes(inferred, known));
  return RowWalk(inferred, known).Walk();
}

}  // namespace onward
