#include "executors/generation/fixed_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "graph/rewrite/match.h"

namespace onward::generation {
namespace {

using namespace expr;  // NOLINT: rewrites read as formulas

// An input that only Attention `attention` and questions for its shape read.
bool IsCacheOf(const Graph& graph, ValueId id, NodeId attention) {
  if (!graph.is_input(id) || graph.is_constant(id) || RankOf(graph, id) != 4) return false;
  for (const NodeId user : graph.users(id)) {
    const Node& node = graph.node(user);
    if (user != attention && !IsOp(node, "Shape")) return false;
  }
  return true;
}

bool IsOnlyOutput(const Graph& graph, ValueId id) {
  return id.valid() && graph.is_output(id) && graph.users(id).empty();
}

// Whether the node is attention whose caches can be fixed ones.
bool Fits(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId keys = InputOf(node, 4), values = InputOf(node, 5);
  const int rank = RankOf(graph, node.inputs[0]);
  const bool packed = rank == 3 && node.attributes.Int("q_num_heads", 0) > 0 &&
                      node.attributes.Int("kv_num_heads", 0) > 0;
  return (packed || rank == 4) && keys.valid() && values.valid() && keys != values &&
         !InputOf(node, 3).valid() && !InputOf(node, 6).valid() && node.outputs.size() == 3 &&
         node.outputs[0].valid() && IsOnlyOutput(graph, node.outputs[1]) &&
         IsOnlyOutput(graph, node.outputs[2]) && IsCacheOf(graph, keys, id) &&
         IsCacheOf(graph, values, id);
}

class Rewriter {
 public:
  explicit Rewriter(Model& model) : model_(model), graph_(model.graph), sink_(graph_, "cache/") {}

  absl::Status Run(const std::vector<NodeId>& nodes) {
    const ValueId first = graph_.node(nodes[0]).inputs[4];
    const Type type = Type::Tensor(DType::kInt64, SymbolicDims{(*graph_.type(first).shape)[0]});
    past_ = sink_.Value(graph_.AddInput(kPastLengthName, type));
    for (const NodeId id : nodes) {
      for (const int input : {4, 5}) FreeLength(graph_.node(id).inputs[static_cast<size_t>(input)]);
    }
    for (const NodeId id : nodes) ONWARD_RETURN_IF_ERROR(Rewrite(id));
    return sink_.status();
  }

 private:
  // The cache's length becomes its capacity; who asks for it gets the tokens that it holds.
  void FreeLength(ValueId cache) {
    (*graph_.mutable_value(cache).type.shape)[2] = Dim::Symbol("capacity");
    const std::vector<NodeId> users = graph_.users(cache);
    for (const NodeId user : users) {
      if (!IsOp(graph_.node(user), "Shape")) continue;
      const Expr all = Shape(sink_.Value(cache));
      const Expr length = Slice(past_, {0}, {1}, {0});
      const Expr shape =
          expr::Concat({Slice(all, {0}, {2}, {0}), length, Slice(all, {3}, {4}, {0})}, 0);
      const auto bound = [&](const char* name, int64_t otherwise) {
        return graph_.node(user).attributes.Int(name, otherwise);
      };
      const Expr part = Slice(shape, {bound("start", 0)}, {bound("end", 4)}, {0});
      if (sink_.status().ok()) Replace(graph_.node(user).outputs[0], part);
      graph_.RemoveNode(user);
    }
  }

  // `to` is read where `from` was, under its name.
  void Replace(ValueId from, const Expr& to) {
    std::string name = graph_.value(from).name;
    graph_.Rename(from, graph_.UniqueName(name + "/before"));
    graph_.Rename(to.id(), std::move(name));
    graph_.ReplaceUses(from, to.id());
  }

  static Expr SplitHeads(const Expr& x, int64_t heads) {
    return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }

  absl::Status Rewrite(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
    Attributes attributes = node.attributes;
    Expr q = sink_.Value(inputs[0]), k = sink_.Value(inputs[1]), v = sink_.Value(inputs[2]);
    const bool packed = RankOf(graph_, inputs[0]) == 3;
    if (packed) {
      const int64_t heads = attributes.Int("kv_num_heads", 0);
      q = SplitHeads(q, attributes.Int("q_num_heads", 0));
      k = SplitHeads(k, heads);
      v = SplitHeads(v, heads);
      attributes.Erase("q_num_heads");
      attributes.Erase("kv_num_heads");
    }
    const Expr seen = past_ + Shape(k, 2, 3);
    const Attributes axis = {{"axis", int64_t{2}}};
    const Expr keys = Op("TensorScatter", {sink_.Value(inputs[4]), k, past_}, axis);
    const Expr values = Op("TensorScatter", {sink_.Value(inputs[5]), v, past_}, axis);
    Expr y = Op("Attention", {q, keys, values, {}, {}, {}, seen}, std::move(attributes));
    if (packed) y = Reshape(Transpose(y, {0, 2, 1, 3}), {0, 0, -1});
    ONWARD_RETURN_IF_ERROR(sink_.status());
    Replace(outputs[0], y);
    Replace(outputs[1], keys);
    Replace(outputs[2], values);
    graph_.RemoveNode(id);
    model_.updates.push_back({inputs[4], keys.id()});
    model_.updates.push_back({inputs[5], values.id()});
    return absl::OkStatus();
  }

  Model& model_;
  Graph& graph_;
  GraphSink sink_;
  Expr past_;
};

}  // namespace

absl::StatusOr<bool> UseFixedCaches(Model& model) {
  const Graph& graph = model.graph;
  std::vector<NodeId> nodes;
  std::vector<ValueId> caches;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!IsOp(node, "Attention") || !InputOf(node, 4).valid()) continue;
    if (!Fits(graph, id)) return false;
    nodes.push_back(id);
    caches.insert(caches.end(), {node.inputs[4], node.inputs[5]});
  }
  if (nodes.empty() || !model.updates.empty() || graph.FindValue(kPastLengthName).valid())
    return false;
  for (const ValueId input : graph.inputs()) {
    const bool past = absl::StrContains(graph.value(input).name, "past");
    if (past && std::find(caches.begin(), caches.end(), input) == caches.end()) return false;
  }
  ONWARD_RETURN_IF_ERROR(Rewriter(model).Run(nodes));
  return true;
}

}  // namespace onward::generation
