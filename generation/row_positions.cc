#include "generation/row_positions.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "generation/fixed_cache.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/match.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using namespace expr;  // NOLINT: rewrites read as formulas

constexpr const char* kElementwise[] = {"Cast", "Cos",  "Sin", "Identity", "Neg",
                                        "Add",  "Sub",  "Mul", "Div",      "Max",
                                        "Min",  "Clip", "Exp", "Sqrt",     "Reciprocal"};

bool IsElementwise(const Node& node) {
  return node.domain.empty() && std::any_of(std::begin(kElementwise), std::end(kElementwise),
                                            [&](const char* op) { return node.op_type == op; });
}

// Values of the first row's length, each with its twin: [batch, dims...] of every row's.
class Lift {
 public:
  explicit Lift(Graph& graph) : graph_(graph), sink_(graph, "rows/") {}

  absl::StatusOr<bool> Run(ValueId past_length) {
    const Expr past = sink_.Value(past_length);
    for (const NodeId id : std::vector<NodeId>(graph_.users(past_length))) {
      if (!IsFirstRow(graph_.node(id))) continue;
      const int first = graph_.node(id).outputs[0].index;
      twins_[first] = Unsqueeze(past, {1});
    }
    if (twins_.empty()) return true;
    for (const NodeId id : NeededInOrder()) {
      const Node& node = graph_.node(id);
      const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId input) { return HasTwin(input); });
      if (!reads) continue;
      if (!Visit(id)) return false;
      ONWARD_RETURN_IF_ERROR(sink_.status());
    }
    for (const auto& [from, to] : merged_) GraphEdit(graph_).ReplaceUses(from, to);
    return true;
  }

 private:
  bool IsFirstRow(const Node& node) const {
    return node.Is("Slice") && node.inputs.size() >= 3 && IsScalar(graph_, node.inputs[1], 0) &&
           IsScalar(graph_, node.inputs[2], 1);
  }

  // The nodes that the outputs need, each behind those that it reads.
  std::vector<NodeId> NeededInOrder() const {
    std::vector<NodeId> order;
    std::unordered_set<int> seen;
    std::vector<std::pair<NodeId, bool>> open;  // with whether what it reads is in the order
    for (const ValueId output : graph_.outputs()) open.emplace_back(Maker(graph_, output), false);
    while (!open.empty()) {
      const auto [id, last] = open.back();
      open.pop_back();
      if (last) order.push_back(id);
      if (last || !id.valid() || !seen.insert(id.index).second) continue;
      open.emplace_back(id, true);
      ForEachRead(graph_.node(id),
                  [&](ValueId each) { open.emplace_back(Maker(graph_, each), false); });
    }
    return order;
  }

  bool HasTwin(ValueId id) const { return id.valid() && twins_.count(id.index) > 0; }

  int Rank(ValueId id) const { return RankOf(graph_, id); }

  bool HasBatch(ValueId id) const {
    if (!id.valid() || graph_.is_constant(id) || HasTwin(id)) return false;
    const Type& type = graph_.type(id);
    return !type.shape || std::any_of(type.shape->begin(), type.shape->end(), [&](const Dim& dim) {
      return !dim.known() && dim == batch();
    });
  }

  const Dim& batch() const { return (*graph_.type(graph_.FindValue(kPastLengthName)).shape)[0]; }

  // The twin as an operand beside values whose rank without the batch axis is `rank`.
  Expr Aligned(ValueId id, int rank) {
    Expr twin = twins_.at(id.index);
    std::vector<int64_t> axes;
    for (int axis = Rank(id); axis < rank; ++axis) axes.push_back(axis - Rank(id) + 1);
    return axes.empty() ? twin : Unsqueeze(twin, axes);
  }

  // The same node on other inputs.
  Expr Again(const Node& node, const std::vector<Expr>& inputs) {
    return Op(node.op_type, inputs, node.attributes, node.domain);
  }

  bool Visit(NodeId id) {
    if (graph_.node(id).outputs.size() != 1 || !graph_.node(id).subgraphs.empty()) return false;
    Node node;  // new nodes move the graph's
    node.domain = graph_.node(id).domain;
    node.op_type = graph_.node(id).op_type;
    node.inputs = graph_.node(id).inputs;
    node.outputs = graph_.node(id).outputs;
    node.attributes = graph_.node(id).attributes;
    if (node.Is("RotaryEmbedding")) return VisitRotary(node);
    for (const ValueId input : node.inputs) {
      if (HasBatch(input)) return Merge(node);
    }
    std::optional<Expr> twin;
    if (IsElementwise(node) || node.Is("MatMul")) {
      twin = Broadcast(node);
    } else if (node.Is("Squeeze") || node.Is("Unsqueeze")) {
      twin = OtherAxes(node);
    } else if (node.Is("Gather")) {
      if (!HasTwin(node.inputs[0]) && node.attributes.Int("axis", 0) == 0)
        twin = expr::Gather(sink_.Value(node.inputs[0]), twins_.at(node.inputs[1].index));
    } else if (node.Is("Range")) {
      twin = RangeOf(node);
    } else if (node.Is("Transpose")) {
      twin = Transposed(node);
    } else if (node.Is("Concat")) {
      twin = Joined(node);
    } else if (node.Is("Reshape")) {
      twin = Reshaped(node);
    }
    if (!twin) return false;
    twins_[node.outputs[0].index] = *twin;
    return true;
  }

  std::optional<Expr> Broadcast(const Node& node) {
    int rank = 0;
    for (const ValueId input : node.inputs) {
      if (input.valid() && Rank(input) < 0) return std::nullopt;
      if (input.valid()) rank = std::max(rank, Rank(input));
    }
    if (node.op_type == "MatMul" &&
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId x) { return Rank(x) < 2; }))
      return std::nullopt;
    std::vector<Expr> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(HasTwin(input) ? Aligned(input, rank) : sink_.Value(input));
    return Again(node, inputs);
  }

  std::optional<Expr> OtherAxes(const Node& node) {
    const auto axes = node.inputs.size() > 1 ? IntElements(graph_, node.inputs[1]) : std::nullopt;
    const bool removes = node.op_type == "Squeeze";
    const int rank = removes ? Rank(node.inputs[0]) : Rank(node.outputs[0]);
    if (HasTwin(InputOf(node, 1)) || rank < 0 || !HasTwin(node.inputs[0])) return std::nullopt;
    std::vector<int64_t> moved;
    if (axes) {
      for (const int64_t axis : *axes) moved.push_back((axis < 0 ? axis + rank : axis) + 1);
    } else if (removes && rank == 1) {
      moved = {1};
    } else {
      return std::nullopt;
    }
    const Expr x = twins_.at(node.inputs[0].index);
    return removes ? Squeeze(x, moved) : Unsqueeze(x, moved);
  }

  // From a row's length on: the end is the start plus what is the same for all rows.
  std::optional<Expr> RangeOf(const Node& node) {
    const Node* end = MadeBy(graph_, node.inputs[1], "Add");
    if (!HasTwin(node.inputs[0]) || end == nullptr || !IsScalar(graph_, node.inputs[2], 1))
      return std::nullopt;
    const ValueId count = OtherInput(*end, node.inputs[0]);
    if (!count.valid() || HasTwin(count) || Rank(count) != 0) return std::nullopt;
    const Expr one = sink_.Value(node.inputs[2]), length = sink_.Value(count);
    return Unsqueeze(twins_.at(node.inputs[0].index), {1}) +
           Op("Range", {length - length, length, one});
  }

  std::optional<Expr> Transposed(const Node& node) {
    const std::vector<int64_t> perm = node.attributes.Ints("perm");
    if (perm.empty()) return std::nullopt;
    std::vector<int64_t> moved = {0};
    for (const int64_t axis : perm) moved.push_back(axis + 1);
    return Transpose(twins_.at(node.inputs[0].index), moved);
  }

  std::optional<Expr> Joined(const Node& node) {
    std::vector<Expr> parts;
    for (const ValueId input : node.inputs) {
      if (!HasTwin(input)) return std::nullopt;
      parts.push_back(twins_.at(input.index));
    }
    const int64_t axis = node.attributes.Int("axis", 0);
    return expr::Concat(parts, axis < 0 ? axis : axis + 1);
  }

  std::optional<Expr> Reshaped(const Node& node) {
    const auto dims = IntElements(graph_, node.inputs[1]);
    if (!dims || node.attributes.Int("allowzero", 0) != 0 ||
        std::count(dims->begin(), dims->end(), 0) > 0)
      return std::nullopt;
    std::vector<int64_t> moved = {0};
    moved.insert(moved.end(), dims->begin(), dims->end());
    return Reshape(twins_.at(node.inputs[0].index), moved);
  }

  // The twin beside a value of rank `rank` whose first axis is the batch.
  std::optional<Expr> BesideBatch(ValueId id, int rank) {
    const int own = Rank(id);
    if (own < 0 || own > rank) return std::nullopt;
    if (own < rank) return Aligned(id, rank - 1);
    const Type& type = graph_.type(id);
    if (!(*type.shape)[0].known() || (*type.shape)[0].value() != 1) return std::nullopt;
    return Squeeze(twins_.at(id.index), {1});
  }

  // Where the twin meets a value that has the batch, it is a value like any other.
  bool Merge(const Node& node) {
    const ValueId out = node.outputs[0];
    const int rank = Rank(out);
    if (!IsElementwise(node) || rank < 1 || graph_.is_output(out)) return false;
    std::vector<Expr> inputs;
    for (const ValueId input : node.inputs) {
      if (!HasTwin(input)) {
        const bool batch_leads = !HasBatch(input) || (Rank(input) == rank && BatchLeads(input));
        if (!batch_leads) return false;
        inputs.push_back(sink_.Value(input));
        continue;
      }
      const auto twin = BesideBatch(input, rank);
      if (!twin) return false;
      inputs.push_back(*twin);
    }
    merged_.emplace_back(out, Again(node, inputs).id());
    return true;
  }

  bool BatchLeads(ValueId id) const {
    const SymbolicDims& shape = *graph_.type(id).shape;
    return !shape.empty() && shape[0] == batch();
  }

  bool VisitRotary(const Node& node) {
    std::vector<Expr> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!HasTwin(input)) {
        inputs.push_back(input.valid() ? sink_.Value(input) : Expr());
        continue;
      }
      // Caches of angles [1, length, size], or positions [1, length].
      const bool caches = node.inputs.size() < 4 || !node.inputs[3].valid();
      if (i == 0 || (!caches && i < 3)) return false;
      const auto twin = BesideBatch(input, caches ? 3 : 2);
      if (!twin) return false;
      inputs.push_back(*twin);
    }
    merged_.emplace_back(node.outputs[0], Again(node, inputs).id());
    return true;
  }

  Graph& graph_;
  GraphSink sink_;
  std::unordered_map<int, Expr> twins_;
  std::vector<std::pair<ValueId, ValueId>> merged_;
};

}  // namespace

absl::StatusOr<bool> UseRowPositions(Model& model) {
  Model changed = model;
  const ValueId past_length = changed.graph.FindValue(kPastLengthName);
  if (!past_length.valid() || (*changed.graph.type(past_length).shape)[0].known()) return false;
  ONWARD_ASSIGN_OR_RETURN(const bool done, Lift(changed.graph).Run(past_length));
  if (done) model = std::move(changed);
  return done;
}

}  // namespace onward::generation
