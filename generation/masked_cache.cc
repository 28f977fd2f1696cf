#include "generation/masked_cache.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/match.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using namespace expr;  // NOLINT: rewrites read as formulas

struct Cached {
  NodeId concat;
  ValueId past, fresh, present;
};

// A cache that one Concat grows, beside questions for its shape.
std::optional<Cached> FindCached(const Graph& graph, ValueId past) {
  Cached found;
  for (const NodeId user : graph.users(past)) {
    const Node& node = graph.node(user);
    if (node.Is("Shape")) continue;
    if (!node.Is("Concat") || node.inputs.size() != 2 || node.inputs[0] != past ||
        node.inputs[1] == past || found.concat.valid())
      return std::nullopt;
    const int64_t axis = node.attributes.Int("axis", 0);
    if (axis != 2 && axis != -2) return std::nullopt;
    found = {user, past, node.inputs[1], node.outputs[0]};
  }
  if (!found.concat.valid() || !graph.is_output(found.present) || RankOf(graph, past) != 4)
    return std::nullopt;
  return found;
}

// An input [batch, length].
ValueId FindNamed(const Graph& graph, const char* name) {
  for (const ValueId input : graph.inputs()) {
    if (absl::StrContains(graph.value(input).name, name) && RankOf(graph, input) == 2) return input;
  }
  return {};
}

class Rewriter {
 public:
  // New keys have the length of `tokens`; the keys' own may depend on what is there before.
  Rewriter(Model& model, ValueId tokens)
      : model_(model),
        graph_(model.graph),
        sink_(graph_, "cache/"),
        length_(Shape(sink_.Value(tokens), 1, 2)) {}

  absl::Status Run(const std::vector<Cached>& all, ValueId mask) {
    for (const Cached& cached : all) Rewrite(cached);
    ONWARD_RETURN_IF_ERROR(sink_.status());
    const Dim capacity = Dim::Symbol("capacity");
    for (const Cached& cached : all) (*GraphEdit(graph_).type(cached.past).shape)[2] = capacity;
    (*GraphEdit(graph_).type(mask).shape)[1] = capacity;
    for (int i = 0; i < graph_.num_values(); ++i) {
      const bool kept = graph_.is_output({i}) && !updates_.count(i);
      if (graph_.value({i}).producer.valid() && !kept) GraphEdit(graph_).type({i}) = {};
    }
    return InferGraph(graph_);
  }

 private:
  void Rewrite(const Cached& cached) {
    const std::vector<NodeId> users = graph_.users(cached.past);
    const Expr past = sink_.Value(cached.past), fresh = sink_.Value(cached.fresh);
    const Expr before = Shape(past, 2, 3) - length_;
    const Expr shape = expr::Concat({Shape(past, 0, 2), before, Shape(past, 3, 4)}, 0);
    for (const NodeId user : users) {
      if (!graph_.node(user).Is("Shape")) continue;
      const auto bound = [&](const char* name, int64_t otherwise) {
        const int64_t at = graph_.node(user).attributes.Int(name, otherwise);
        return std::clamp<int64_t>(at < 0 ? at + 4 : at, 0, 4);
      };
      const Expr part = Slice(shape, {bound("start", 0)}, {bound("end", 4)}, {0});
      if (!sink_.status().ok()) return;
      Replace(graph_.node(user).outputs[0], part);
      GraphEdit(graph_).RemoveNode(user);
    }
    const Expr next = Op("TensorScatter", {past, fresh, Expand(before, Shape(past, 0, 1))},
                         {{"axis", int64_t{2}}});
    if (!sink_.status().ok()) return;
    GraphEdit(graph_).RemoveNode(cached.concat);
    Replace(cached.present, next);
    updates_.insert(next.id().index);
    model_.updates.push_back({cached.past, next.id()});
  }

  // `to` is read where `from` was, under its name.
  void Replace(ValueId from, const Expr& to) {
    GraphEdit(graph_).MoveName(from, to.id(), "/before");
    GraphEdit(graph_).ReplaceUses(from, to.id());
  }

  Model& model_;
  Graph& graph_;
  GraphSink sink_;
  Expr length_;
  std::set<int> updates_;
};

}  // namespace

absl::StatusOr<bool> UseMaskedCaches(Model& model) {
  const Graph& graph = model.graph;
  const ValueId mask = FindNamed(graph, "attention_mask"), tokens = FindNamed(graph, "input_ids");
  if (!mask.valid() || !tokens.valid() || !model.updates.empty()) return false;
  std::vector<Cached> all;
  for (const ValueId input : graph.inputs()) {
    if (!absl::StrContains(graph.value(input).name, "past")) continue;
    const std::optional<Cached> found = FindCached(graph, input);
    if (!found) return false;
    all.push_back(*found);
  }
  if (all.empty()) return false;
  Model changed = model;
  if (!Rewriter(changed, tokens).Run(all, mask).ok()) return false;
  model = std::move(changed);
  return true;
}

}  // namespace onward::generation
