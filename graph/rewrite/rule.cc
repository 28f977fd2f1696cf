#include "graph/rewrite/rule.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward {

namespace {

class RuleDriver {
 public:
  RuleDriver(Graph& graph, absl::Span<const Rule> rules, int& budget)
      : graph_(graph), budget_(budget), limit_(1000 + 20 * graph.num_nodes()) {
    for (const Rule& rule : rules) {
      (rule.op.empty() ? any_op_ : by_op_[std::string(rule.op)]).push_back(&rule);
    }
  }

  absl::StatusOr<int> Run() {
    int before = -1;
    while (before != patches_ && budget_ > 0) {
      before = patches_;
      ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
      for (NodeId id : order) Push(id);
      while (!queue_.empty() && budget_ > 0) {
        const NodeId id = queue_.front();
        queue_.pop_front();
        queued_[static_cast<size_t>(id.index)] = false;
        ONWARD_RETURN_IF_ERROR(Visit(id));
      }
    }
    return patches_;
  }

 private:
  void Push(NodeId id) {
    if (queued_.size() <= static_cast<size_t>(id.index)) {
      queued_.resize(static_cast<size_t>(graph_.num_nodes()));
    }
    if (queued_[static_cast<size_t>(id.index)]) return;
    queued_[static_cast<size_t>(id.index)] = true;
    queue_.push_back(id);
  }

  absl::Status Visit(NodeId id) {
    if (!graph_.alive(id)) return absl::OkStatus();
    const Node& node = graph_.node(id);
    const auto rules =
        by_op_.find(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
    if (rules != by_op_.end()) {
      ONWARD_ASSIGN_OR_RETURN(const bool fired, Try(rules->second, id));
      if (fired) return absl::OkStatus();
    }
    return Try(any_op_, id).status();
  }

  absl::StatusOr<bool> Try(const std::vector<const Rule*>& rules, NodeId id) {
    for (const Rule* rule : rules) {
      std::optional<Patch> patch = rule->match(graph_, id);
      if (!patch || patch->empty()) continue;
      std::string label = absl::StrCat(std::string(rule->name), " @ ", NodeName(id));
      if (++patches_ > limit_) {
        return absl::InternalError(
            absl::StrCat("rules do not come to an end; the last was ", label));
      }
      patch->set_label(std::move(label));
      const int first_new = graph_.num_nodes();
      const std::vector<std::pair<ValueId, ValueId>> replaced = patch->replaced();
      ONWARD_RETURN_IF_ERROR(Apply(graph_, *std::move(patch)));
      --budget_;
      if (graph_.alive(id)) Push(id);
      for (int i = first_new; i < graph_.num_nodes(); ++i) PushNeighbours({i});
      for (const auto& [from, to] : replaced) PushAround(to);
      return true;
    }
    return false;
  }

  void PushNeighbours(NodeId id) {
    if (!graph_.alive(id)) return;
    Push(id);
    for (ValueId input : graph_.node(id).inputs) {
      if (input.valid()) PushAround(input);
    }
    for (ValueId output : graph_.node(id).outputs) {
      if (output.valid()) PushAround(output);
    }
  }

  // The value's maker and its readers; of a value that many read (a shared constant), the maker.
  void PushAround(ValueId value) {
    if (graph_.value(value).producer.valid()) Push(graph_.value(value).producer);
    if (graph_.users(value).size() > 16) return;
    for (NodeId user : graph_.users(value)) Push(user);
  }

  std::string NodeName(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.name.empty()) return node.name;
    for (ValueId output : node.outputs) {
      if (output.valid()) return graph_.value(output).name;
    }
    return node.op_type;
  }

  Graph& graph_;
  int& budget_;
  const int limit_;
  int patches_ = 0;
  std::unordered_map<std::string, std::vector<const Rule*>> by_op_;
  std::vector<const Rule*> any_op_;
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
};

}  // namespace

absl::StatusOr<int> ApplyRules(Graph& graph, absl::Span<const Rule> rules, int& budget) {
  return RuleDriver(graph, rules, budget).Run();
}

}  // namespace onward
