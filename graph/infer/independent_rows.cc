#include "graph/infer/independent_rows.h"

#include <algorithm>
#include <optional>
#include <string>
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

class RowWalk {
 public:
  RowWalk(const Graph& graph, const KnownElements& known)
      : graph_(graph), known_(known), rows_(static_cast<size_t>(graph.num_values())) {}

  absl::Status Walk() {
    ONWARD_RETURN_IF_ERROR(TakeInputs());
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    for (const NodeId id : order) ONWARD_RETURN_IF_ERROR(WalkNode(id));
    for (const ValueId output : graph_.outputs()) {
      const Rows& rows = Of(output);
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

  // Whether the value's dims are those that its rows ask for.
  bool Fits(ValueId id, const Rows& rows) const {
    const Type& type = graph_.type(id);
    if (!type.is_tensor() || !type.shape) return false;
    for (size_t i = 0; i < type.shape->size(); ++i) {
      const Dim& dim = (*type.shape)[i];
      if (dim.unknown()) return false;
      const bool along = rows.kind == Kind::kAlong && static_cast<int64_t>(i) == rows.axis;
      if (!along && HasBatch(dim)) return false;
      if (!along) continue;
      const Dim factor = DimFloorDiv(dim, batch_);
      if (factor.unknown() || HasBatch(factor) || DimMul(factor, batch_) != dim) return false;
    }
    return rows.kind != Kind::kAlong || rows.axis < static_cast<int64_t>(type.shape->size());
  }

  // Of a node none of whose inputs has rows along an axis.
  absl::Status TakeCount(NodeId id, bool by_number) {
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
      // One element for all rows.
      const bool filled = node.op_type == "ConstantOfShape" ||
                          (node.op_type == "Expand" && Of(node.inputs[0]).kind == Kind::kNone);
      const auto axis = AxisOfBatch(output);
      if (!filled || !axis || !Fits(output, Rows::Along(*axis))) return Mixed(id);
      Of(output) = Rows::Along(*axis);
    }
    return absl::OkStatus();
  }

  std::optional<int64_t> AxisOfBatch(ValueId id) const {
    const Type& type = graph_.type(id);
    if (!type.is_tensor() || !type.shape) return std::nullopt;
    for (size_t i = 0; i < type.shape->size(); ++i)
      if (HasBatch((*type.shape)[i])) return static_cast<int64_t>(i);
    return std::nullopt;
  }

  absl::Status Mixed(NodeId id) const {
    return Dependent(absl::StrCat("rows may influence each other in ", graph_.Describe(id)));
  }

  absl::Status WalkNode(NodeId id) {
    const Node& node = graph_.node(id);
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (facts != nullptr && facts->random && facts->rows == nullptr)
      return Dependent(absl::StrCat(graph_.Describe(id), " draws by a row's place in the batch"));
    std::vector<Rows> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? Of(input) : Rows());
    for (const Subgraph& subgraph : node.subgraphs)
      for (const ValueId capture : subgraph.captures) inputs.push_back(Of(capture));
    const auto has = [&](Kind kind) {
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](const Rows& rows) { return rows.kind == kind; });
    };
    if (!has(Kind::kAlong)) return TakeCount(id, has(Kind::kCount));
    if (facts != nullptr && facts->reads_shape_only && inputs.size() == 1)
      return TakeCount(id, true);
    if (facts == nullptr || facts->rows == nullptr || !node.subgraphs.empty()) return Mixed(id);
    const RowNode at{graph_, node, inputs, batch_};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const std::optional<Rows> rows = facts->rows(at, i);
      if (!rows || !Fits(node.outputs[i], *rows)) return Mixed(id);
      Of(node.outputs[i]) = *rows;
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const KnownElements& known_;
  std::vector<Rows> rows_;
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
