#include "training/prepare/spectral_norm.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/nn/spectral_norm.h"
#include "onward/status.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// In the metadata of the product u' W while the model trains: the names of the states.
constexpr char kLeftKey[] = "onward.running_u", kRightKey[] = "onward.running_v";

// The product (u' W) v of a spectral norm; not valid when the graph is another one by now.
NodeId SecondProduct(const Graph& graph, const Node& first) {
  for (const NodeId user : graph.users(first.outputs[0])) {
    const Node& node = graph.node(user);
    if (node.Is("MatMul") && node.inputs[0] == first.outputs[0]) return user;
  }
  return {};
}

Expr Normalized(const Expr& x, double eps) {
  return x / Max(Sqrt(ReduceSum(x * x, {0})), ScalarLike(x, eps));
}

absl::StatusOr<bool> Train(Model& model, NodeId first) {
  Graph& graph = model.graph;
  const Node& node = graph.node(first);
  const NodeId second = SecondProduct(graph, node);
  if (!second.valid()) return false;
  const ValueId left = node.inputs[0], right = graph.node(second).inputs[1];
  if (!graph.is_constant(left) || !graph.is_constant(right)) return false;
  const std::pair<std::string, std::string> numbers =
      absl::StrSplit(node.metadata.at(nn::kSpectralNormKey), ' ');
  int64_t iterations = 1;
  double eps = 1e-12;
  (void)absl::SimpleAtoi(numbers.first, &iterations);
  (void)absl::SimpleAtod(numbers.second, &eps);
  GraphSink sink(graph, "power/");
  const Expr matrix =
      expr::Op("StopGradient", {sink.Value(node.inputs[1])}, {}, std::string(kOnwardDomain));
  const ValueId u_state = ConstantToState(graph, left), v_state = ConstantToState(graph, right);
  Expr u = sink.Value(u_state), v = sink.Value(v_state);
  for (int64_t i = 0; i < iterations; ++i) {
    u = Normalized(MatMul(matrix, v), eps);
    v = Normalized(MatMul(u, matrix), eps);
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  GraphEdit(graph).SetInput(first, 0, u.id());
  GraphEdit(graph).SetInput(second, 1, v.id());
  Node& trained = GraphEdit(graph).node(first);
  trained.metadata[kLeftKey] = graph.value(u_state).name;
  trained.metadata[kRightKey] = graph.value(v_state).name;
  AddUpdate(model, u_state, u.id());
  AddUpdate(model, v_state, v.id());
  return true;
}

}  // namespace

absl::StatusOr<int> TrainSpectralNorms(Model& model,
                                       const std::function<bool(const Node&)>& left_out) {
  int count = 0;
  for (const NodeId id : model.graph.node_ids()) {
    const Node& node = model.graph.node(id);
    if (!node.metadata.contains(nn::kSpectralNormKey) || node.metadata.contains(kLeftKey) ||
        left_out(node))
      continue;
    ONWARD_ASSIGN_OR_RETURN(const bool trains, Train(model, id));
    count += trains;
  }
  return count;
}

int InferSpectralNorms(Graph& graph, std::vector<ValueId>& states) {
  int count = 0;
  for (const NodeId id : graph.node_ids()) {
    Node& node = GraphEdit(graph).node(id);
    if (!node.metadata.contains(kLeftKey) || !node.metadata.contains(kRightKey)) continue;
    const ValueId u = graph.FindValue(node.metadata.at(kLeftKey)),
                  v = graph.FindValue(node.metadata.at(kRightKey));
    const NodeId second = SecondProduct(graph, node);
    if (!u.valid() || !v.valid() || !second.valid()) continue;
    node.metadata.erase(kLeftKey);
    node.metadata.erase(kRightKey);
    GraphEdit(graph).SetInput(id, 0, u);
    GraphEdit(graph).SetInput(second, 1, v);
    states.insert(states.end(), {u, v});
    ++count;
  }
  return count;
}

}  // namespace onward::training
