#include "training/gradient/driver.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/expand_bodies.h"
#include "training/gradient/path.h"
#include "training/gradient/rules.h"
#include "training/gradient/static_sequences.h"

namespace onward::gradient {
namespace {

class ReverseWalk {
 public:
  ReverseWalk(GraphSink& sink, absl::Span<const ValueId> sources,
              absl::Span<const GradientTarget> targets, const GradientOptions& options)
      : sink_(sink), graph_(sink.graph()), sources_(sources), options_(options) {
    for (const GradientTarget& target : targets) targets_.push_back(target.value);
  }

  absl::Status Run(absl::Span<const GradientTarget> targets) {
    ONWARD_RETURN_IF_ERROR(ResolveStaticSequences(graph_));
    ONWARD_RETURN_IF_ERROR(ExpandWhereNoRule(graph_, sources_, targets_, options_.stop_at));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    paths_ = FindPaths(graph_, order, sources_, targets_, options_.stop_at);
    for (const ValueId id : options_.stop_at) stopped_.insert(id.index);
    for (const GradientTarget& target : targets) {
      Accumulate(target.value, sink_.Value(target.cotangent));
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      ONWARD_RETURN_IF_ERROR(Visit(*it));
    }
    return sink_.status();
  }

  Expr GradientOf(ValueId id) const {
    const auto it = gradients_.find(id.index);
    return it == gradients_.end() ? Expr() : it->second;
  }

 private:
  absl::Status Visit(NodeId id) {
    std::vector<Expr> upstream;
    bool any = false;
    for (const ValueId output : graph_.node(id).outputs) {
      const bool flows = output.valid() && stopped_.count(output.index) == 0;
      upstream.push_back(flows ? GradientOf(output) : Expr());
      any |= upstream.back().valid();
    }
    const std::vector<ValueId> operands = Operands(graph_.node(id));
    std::vector<bool> wanted;
    for (const ValueId operand : operands) {
      wanted.push_back(operand.valid() && paths_.on_path(operand));
    }
    if (!any || std::find(wanted.begin(), wanted.end(), true) == wanted.end())
      return absl::OkStatus();
    const std::string where = graph_.Describe(id);
    const absl::Status status = Apply(id, upstream, operands, wanted);
    if (status.ok()) return status;
    // A rule may have replaced the node.
    const std::string path =
        graph_.alive(id) ? DescribePath(graph_, id, paths_, sources_, targets_) : "";
    return absl::Status(status.code(), absl::StrCat(where, " ", std::string(status.message()),
                                                    path.empty() ? "" : "; the path is ", path));
  }

  absl::Status Apply(NodeId id, const std::vector<Expr>& upstream,
                     const std::vector<ValueId>& operands, const std::vector<bool>& wanted) {
    const std::optional<GradientRule> rule =
        training::FindGradient(graph_.node(id).domain, graph_.node(id).op_type);
    if (!rule) return absl::UnimplementedError("has no gradient, and the path leads through it");
    if (*rule == nullptr) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> gradients,
                            (*rule)(GradientScope(sink_, id, upstream, wanted, options_)));
    ONWARD_RETURN_IF_ERROR(sink_.status());
    if (gradients.size() > operands.size()) {
      return absl::InternalError(absl::StrCat("its gradient rule gives ", gradients.size(),
                                              " gradients for ", operands.size(), " operands"));
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].valid() || !wanted[i]) continue;
      const Type &have = gradients[i].type(), &want = graph_.type(operands[i]);
      const bool float_tensor = want.is_tensor() && IsDifferentiable(want);
      if (have.is_tensor() && float_tensor && have.dtype != want.dtype) {
        return absl::InternalError(absl::StrCat("its gradient rule gives ", have.ToString(),
                                                " for operand ", i, " of ", want.ToString()));
      }
      Accumulate(operands[i], SumTo(gradients[i], sink_.Value(operands[i])));
    }
    return sink_.status();
  }

  void Accumulate(ValueId id, const Expr& gradient) {
    const auto [it, inserted] = gradients_.try_emplace(id.index, gradient);
    if (!inserted) it->second = AddCotangents(it->second, gradient);
  }

  GraphSink& sink_;
  Graph& graph_;
  absl::Span<const ValueId> sources_;
  std::vector<ValueId> targets_;
  const GradientOptions& options_;
  Paths paths_;
  std::unordered_set<int32_t> stopped_;
  std::unordered_map<int32_t, Expr> gradients_;  // by value index
};

}  // namespace

absl::StatusOr<std::vector<Expr>> Differentiate(GraphSink& sink,
                                                absl::Span<const GradientTarget> targets,
                                                absl::Span<const ValueId> wrt,
                                                const GradientOptions& options) {
  const int first_value = sink.graph().num_values();
  ReverseWalk walk(sink, wrt, targets, options);
  ONWARD_RETURN_IF_ERROR(walk.Run(targets));
  std::vector<Expr> gradients;
  std::vector<ValueId> keep;
  for (const ValueId id : wrt) {
    gradients.push_back(walk.GradientOf(id));
    if (gradients.back().valid()) keep.push_back(gradients.back().id());
  }
  RemoveUnread(sink.graph(), keep, first_value);
  return gradients;
}

void RemoveUnread(Graph& graph, absl::Span<const ValueId> keep, int first_value) {
  std::unordered_set<int32_t> kept;
  for (const ValueId id : keep) kept.insert(id.index);
  for (const ValueId id : graph.outputs()) kept.insert(id.index);
  std::vector<NodeId> pending = graph.node_ids();
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!graph.alive(id)) continue;
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    const bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return output.valid() && (output.index < first_value || kept.count(output.index) != 0 ||
                                !graph.users(output).empty());
    });
    if (read) continue;
    const std::vector<ValueId> operands = Operands(graph.node(id));
    GraphEdit(graph).RemoveNode(id);
    for (const ValueId operand : operands) {
      const NodeId producer = operand.valid() ? graph.value(operand).producer : NodeId();
      if (producer.valid()) pending.push_back(producer);
    }
  }
}

}  // namespace onward::gradient
