#include "generation/fixed_cache.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "executors/evaluate.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/pass.h"
#include "graph/rewrite/match.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using namespace expr;  // NOLINT: rewrites read as formulas

// The value before axes of size 1 were put in or it was repeated.
ValueId Core(const Graph& graph, ValueId id) {
  const auto inner = [&] {
    const Node* node = MadeBy(graph, id, "Unsqueeze");
    return node != nullptr ? node : MadeBy(graph, id, "Expand");
  };
  while (const Node* node = inner()) id = node->inputs[0];
  return id;
}

// x of Add(x, c) for a constant c whose elements are all in [low, high]; invalid otherwise.
ValueId BesideConstant(const Graph& graph, ValueId id, int64_t low, int64_t high) {
  const Node* add = MadeBy(graph, id, "Add");
  for (size_t i = 0; add != nullptr && i < 2; ++i) {
    const auto elements = IntElements(graph, add->inputs[i]);
    if (elements && std::all_of(elements->begin(), elements->end(),
                                [&](int64_t each) { return each >= low && each <= high; }))
      return add->inputs[1 - i];
  }
  return {};
}

// True if a condition holds for certain: k <= p for k in [0, p], as causal masks of one query are.
bool IsTrue(const Graph& graph, ValueId condition) {
  const Node* compare = MadeBy(graph, Core(graph, condition), "LessOrEqual");
  if (compare == nullptr) return false;
  const Node* range = MadeBy(graph, Core(graph, compare->inputs[0]), "Range");
  if (range == nullptr || !IsScalar(graph, range->inputs[0], 0) ||
      !IsScalar(graph, range->inputs[2], 1))
    return false;
  const ValueId last = BesideConstant(graph, range->inputs[1], 1, 1);
  const ValueId at = Core(graph, compare->inputs[1]);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return last.valid() && (at == last || BesideConstant(graph, at, 0, kMost) == last);
}

// Returns whether a mask leaves scores as they are.
bool LetsAllPass(const Graph& graph, ValueId mask) {
  if (graph.type(mask).dtype == DType::kBool) return IsTrue(graph, mask);
  const Node* where = MadeBy(graph, mask, "Where");
  return where != nullptr && IsScalar(graph, where->inputs[1], 0) &&
         IsTrue(graph, where->inputs[0]);
}

// One attention with its caches.
struct Cached {
  NodeId node;
  ValueId past[2], fresh[2], present[2];  // keys, values
};

// An input that only `reader` and questions for its shape read.
bool IsCacheOf(const Graph& graph, ValueId id, NodeId reader) {
  if (!id.valid() || !graph.is_input(id) || graph.is_constant(id) || RankOf(graph, id) != 4)
    return false;
  for (const NodeId user : graph.users(id)) {
    if (user != reader && !graph.node(user).Is("Shape")) return false;
  }
  return true;
}

// Attention that has the caches itself.
std::optional<Cached> WithOwnCaches(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const int rank = RankOf(graph, node.inputs[0]);
  const bool packed = rank == 3 && node.attributes.Int("q_num_heads", 0) > 0 &&
                      node.attributes.Int("kv_num_heads", 0) > 0;
  if ((!packed && rank != 4) || InputOf(node, 3).valid() || node.outputs.size() != 3)
    return std::nullopt;
  Cached found{id, {}, {node.inputs[1], node.inputs[2]}, {}};
  for (int i = 0; i < 2; ++i) {
    found.past[i] = InputOf(node, 4 + i);
    found.present[i] = node.outputs[static_cast<size_t>(1 + i)];
    const ValueId present = found.present[i];
    if (!IsCacheOf(graph, found.past[i], id) || !present.valid() || !graph.is_output(present) ||
        !graph.users(present).empty())
      return std::nullopt;
  }
  return found;
}

// Attention on keys and values that a Concat puts together.
std::optional<Cached> WithConcats(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId mask = InputOf(node, 3);
  if (RankOf(graph, node.inputs[0]) != 4 || node.outputs.size() != 1 ||
      node.attributes.Int("is_causal", 0) != 0 || (mask.valid() && !LetsAllPass(graph, mask)))
    return std::nullopt;
  Cached found{id, {}, {}, {}};
  for (int i = 0; i < 2; ++i) {
    const ValueId present = node.inputs[static_cast<size_t>(1 + i)];
    const Node* concat = MadeBy(graph, present, "Concat");
    if (concat == nullptr || concat->inputs.size() != 2 || !graph.is_output(present) ||
        graph.users(present) != std::vector<NodeId>{id} || RankOf(graph, present) != 4)
      return std::nullopt;
    const int64_t axis = concat->attributes.Int("axis", 0);
    if ((axis != 2 && axis != -2) || !IsCacheOf(graph, concat->inputs[0], Maker(graph, present)))
      return std::nullopt;
    found.past[i] = concat->inputs[0];
    found.fresh[i] = concat->inputs[1];
    found.present[i] = present;
  }
  return found;
}

class Rewriter {
 public:
  explicit Rewriter(Model& model) : model_(model), graph_(model.graph), sink_(graph_, "cache/") {}

  absl::Status Run(const std::vector<Cached>& all) {
    const Dim batch = (*graph_.type(all[0].past[0]).shape)[0];
    past_ = sink_.Value(GraphEdit(graph_).AddInput(
        kPastLengthName, Type::Tensor(DType::kInt64, SymbolicDims{batch})));
    first_ = Slice(past_, {0}, {1}, {0});
    for (const Cached& each : all) {
      for (const ValueId cache : each.past) FreeLength(cache);
    }
    for (const Cached& each : all) ONWARD_RETURN_IF_ERROR(Rewrite(each));
    return sink_.status();
  }

 private:
  // The cache's length becomes its capacity; who asks for it gets the tokens that it holds.
  void FreeLength(ValueId cache) {
    (*GraphEdit(graph_).type(cache).shape)[2] = Dim::Symbol("capacity");
    const std::vector<NodeId> users = graph_.users(cache);
    for (const NodeId user : users) {
      if (!graph_.node(user).Is("Shape")) continue;
      const auto bound = [&](const char* name, int64_t otherwise) {
        const int64_t at = graph_.node(user).attributes.Int(name, otherwise);
        return at < 0 ? at + 4 : at;
      };
      const int64_t start = bound("start", 0), end = bound("end", 4);
      Expr part = first_;
      if (start != 2 || end != 3) {
        const Expr all = Shape(sink_.Value(cache));
        const Expr shape =
            expr::Concat({Slice(all, {0}, {2}, {0}), first_, Slice(all, {3}, {4}, {0})}, 0);
        part = Slice(shape, {start}, {end}, {0});
      }
      if (sink_.status().ok()) Replace(graph_.node(user).outputs[0], part);
      GraphEdit(graph_).RemoveNode(user);
    }
  }

  // `to` is read where `from` was, under its name.
  void Replace(ValueId from, const Expr& to) {
    GraphEdit(graph_).MoveName(from, to.id(), "/before");
    GraphEdit(graph_).ReplaceUses(from, to.id());
  }

  static Expr SplitHeads(const Expr& x, int64_t heads) {
    return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }

  absl::Status Rewrite(const Cached& cached) {
    const Node& node = graph_.node(cached.node);
    const ValueId query = node.inputs[0], result = node.outputs[0];
    Attributes attributes = node.attributes;
    Expr q = sink_.Value(query), fresh[2], next[2];
    const bool packed = RankOf(graph_, query) == 3;
    const int64_t q_heads = attributes.Int("q_num_heads", 0);
    const int64_t kv_heads = attributes.Int("kv_num_heads", 0);
    if (packed) {
      q = SplitHeads(q, q_heads);
      attributes.Erase("q_num_heads");
      attributes.Erase("kv_num_heads");
    }
    for (int i = 0; i < 2; ++i) {
      fresh[i] = sink_.Value(cached.fresh[i]);
      if (packed) fresh[i] = SplitHeads(fresh[i], kv_heads);
      next[i] = Op("TensorScatter", {sink_.Value(cached.past[i]), fresh[i], past_},
                   {{"axis", int64_t{2}}});
    }
    const Expr seen = past_ + Shape(fresh[0], 2, 3);
    Expr y = Op("Attention", {q, next[0], next[1], {}, {}, {}, seen}, std::move(attributes));
    if (packed) y = Reshape(Transpose(y, {0, 2, 1, 3}), {0, 0, -1});
    ONWARD_RETURN_IF_ERROR(sink_.status());
    Replace(result, y);
    GraphEdit(graph_).RemoveNode(cached.node);
    for (int i = 0; i < 2; ++i) {
      const NodeId concat = graph_.value(cached.present[i]).producer;
      Replace(cached.present[i], next[i]);
      if (concat.valid()) GraphEdit(graph_).RemoveNode(concat);
      model_.updates.push_back({cached.past[i], next[i].id()});
    }
    return absl::OkStatus();
  }

  Model& model_;
  Graph& graph_;
  GraphSink sink_;
  Expr past_, first_;  // what all rows hold, and the first one
};

}  // namespace

absl::StatusOr<bool> UseFixedCaches(Model& model) {
  const Graph& graph = model.graph;
  std::vector<Cached> all;
  std::vector<ValueId> caches;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!node.Is("Attention") || InputOf(node, 6).valid() || !node.outputs[0].valid()) continue;
    const std::optional<Cached> found =
        InputOf(node, 4).valid() ? WithOwnCaches(graph, id) : WithConcats(graph, id);
    if (!found) continue;
    all.push_back(*found);
    caches.insert(caches.end(), {found->past[0], found->past[1]});
  }
  if (all.empty() || !model.updates.empty() || graph.FindValue(kPastLengthName).valid())
    return false;
  for (const ValueId input : graph.inputs()) {
    const bool past = absl::StrContains(graph.value(input).name, "past");
    if (past && std::count(caches.begin(), caches.end(), input) != 1) return false;
  }
  ONWARD_RETURN_IF_ERROR(Rewriter(model).Run(all));
  return true;
}

absl::StatusOr<bool> OptimizeAndUseFixedCaches(Model& model, const SessionOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(const bool at_once, UseFixedCaches(model));
  if (at_once) return true;
  if (!options.optimize || options.reference_kernels) return false;
  KernelOptions kernel_options;
  kernel_options.precision = options.precision;
  PassOptions pass_options;
  pass_options.excess_precision = options.precision != Precision::kStrict;
  pass_options.evaluate = [&](const Graph& graph, NodeId id) {
    return executors::EvaluateOnCpu(graph, id, kernel_options);
  };
  std::vector<Pass> passes = PortablePipeline();
  const bool on_host = options.provider == "cpu";
  for (const Pass& pass : on_host ? DevicePipeline("cpu") : AttentionPipeline())
    passes.push_back(pass);
  Model optimized = model;
  ONWARD_RETURN_IF_ERROR(InferGraph(optimized.graph));
  ONWARD_RETURN_IF_ERROR(RunPasses(optimized, passes, pass_options).status());
  ONWARD_ASSIGN_OR_RETURN(const bool fixed, UseFixedCaches(optimized));
  if (fixed) model = std::move(optimized);
  return fixed;
}

}  // namespace onward::generation
