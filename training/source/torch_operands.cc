#include "training/source/torch_operands.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "graph/ops/onward_schemas.h"
#include "onward/dtype.h"

namespace onward::training {
namespace {

constexpr char kFxNodeKey[] = "pkg.torch.onnx.fx_node";

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct FxNode {
  std::string name;
  std::string target;  // "aten.mul.Tensor"
  std::vector<std::string> operands;
};

// The names after '%' in `text`, in order.
std::vector<std::string> NamesIn(std::string_view text) {
  std::vector<std::string> names;
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    if (end > at + 1) names.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return names;
}

std::optional<FxNode> ParseFxNode(const Node& node) {
  const auto found = node.metadata.find(kFxNodeKey);
  if (found == node.metadata.end()) return std::nullopt;
  const std::string_view text = found->second;
  const size_t arguments = text.find("](args = ");
  const std::vector<std::string> name = NamesIn(text.substr(0, text.find(' ')));
  if (name.size() != 1 || arguments == text.npos) return std::nullopt;
  FxNode parsed{name[0], "", NamesIn(text.substr(arguments))};
  constexpr std::string_view kTarget = "[target=torch.ops.";
  const size_t target = text.find(kTarget);
  if (target < arguments) {
    const size_t begin = target + kTarget.size();
    parsed.target = std::string(text.substr(begin, arguments - begin));
  }
  return parsed;
}

bool IsFloatTensor(const Graph& graph, ValueId id) {
  return graph.type(id).is_tensor() && IsFloating(graph.type(id).dtype);
}

struct Group {
  FxNode fx;
  std::vector<NodeId> nodes;
};

// An input of a group's node that is computed elsewhere.
struct Edge {
  NodeId node;
  int input = 0;
  ValueId value;  // before a StopGradient
};

class Finder {
 public:
  Finder(const Graph& graph, const TorchExport& exported) : graph_(graph), exported_(exported) {}

  TorchOperands Run() {
    for (const NodeId id : graph_.node_ids()) {
      std::optional<FxNode> fx = ParseFxNode(graph_.node(id));
      if (!fx) continue;
      const auto [it, inserted] = index_.try_emplace(fx->name, groups_.size());
      if (inserted) groups_.push_back({*std::move(fx), {}});
      groups_[it->second].nodes.push_back(id);
    }
    for (const Group& group : groups_) Match(group);
    return std::move(found_);
  }

 private:
  ValueId BeforeStop(ValueId value) const {
    for (;;) {
      const NodeId maker = graph_.value(value).producer;
      if (!maker.valid() || !graph_.node(maker).Is("StopGradient", kOnwardDomain) ||
          graph_.node(maker).metadata.contains(kFxNodeKey))
        return value;
      value = graph_.node(maker).inputs[0];
    }
  }

  // The value that the file has for an operand: what its fx node makes, or the value of its name.
  ValueId ValueOf(const std::string& operand) const {
    const auto group = index_.find(operand);
    if (group != index_.end()) {
      const Node& last = graph_.node(groups_[group->second].nodes.back());
      for (const NodeId id : groups_[group->second].nodes) {
        for (const ValueId output : graph_.node(id).outputs)
          if (output.valid() && graph_.value(output).name == operand) return output;
      }
      return last.outputs[0];
    }
    const std::string name = exported_.ValueName(operand);
    return graph_.FindValue(name.empty() ? operand : name);
  }

  // Returns whether an initializer of the file is the operand, or was computed from it.
  bool IsFrom(ValueId value, const std::string& operand) const {
    const std::string target = exported_.Target(operand);
    if (target.empty() || !graph_.is_constant(value)) return false;
    const TorchInitializer about = exported_.Find(graph_, value);
    return graph_.value(value).name == target ||
           std::find(about.parameters.begin(), about.parameters.end(), target) !=
               about.parameters.end();
  }

  std::vector<Edge> EdgesOf(const Group& group) const {
    std::vector<Edge> edges;
    for (const NodeId id : group.nodes) {
      const Node& node = graph_.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid()) continue;
        const ValueId value = BeforeStop(node.inputs[i]);
        const NodeId maker = graph_.value(value).producer;
        if (!IsFloatTensor(graph_, value)) continue;
        if (maker.valid() &&
            std::find(group.nodes.begin(), group.nodes.end(), maker) != group.nodes.end())
          continue;
        edges.push_back({id, static_cast<int>(i), value});
      }
    }
    return edges;
  }

  // A constant that the exporter made, of numbers in the source.
  bool IsNumber(ValueId value) const {
    return graph_.is_constant(value) && exported_.Find(graph_, value).kind == TorchKind::kConstant;
  }

  bool Reads(const Edge& edge, const std::string& operand) const {
    const ValueId value = ValueOf(operand);
    return (value.valid() && BeforeStop(value) == edge.value) || IsFrom(edge.value, operand);
  }
  bool Agrees(const Edge& edge, const std::string& operand) const {
    return !ValueOf(operand).valid() || Reads(edge, operand);
  }

  void Match(const Group& group) {
    std::vector<std::string> operands;
    for (const std::string& operand : group.fx.operands) {
      const ValueId value = ValueOf(operand);
      if (!value.valid() || IsFloatTensor(graph_, value)) operands.push_back(operand);
    }
    if (absl::StartsWith(group.fx.target, "aten.rsub"))
      std::reverse(operands.begin(), operands.end());
    const std::vector<Edge> edges = EdgesOf(group);
    if (MatchInOrder(group, edges, operands)) return;
    std::vector<Edge> rest;
    std::copy_if(edges.begin(), edges.end(), std::back_inserter(rest),
                 [&](const Edge& edge) { return !IsNumber(edge.value); });
    if (rest.size() != edges.size() && MatchInOrder(group, rest, operands)) return;
    MatchByValue(group, rest, operands);
  }

  bool MatchInOrder(const Group& group, const std::vector<Edge>& edges,
                    const std::vector<std::string>& operands) {
    if (edges.size() != operands.size()) return false;
    for (size_t i = 0; i < edges.size(); ++i)
      if (!Agrees(edges[i], operands[i])) return false;
    for (size_t i = 0; i < edges.size(); ++i) Add(group, edges[i], operands[i]);
    return true;
  }

  // Operands whose values the file has take the inputs that read them; what is left goes to those
  // operands that the file has under another name.
  void MatchByValue(const Group& group, const std::vector<Edge>& edges,
                    const std::vector<std::string>& operands) {
    std::vector<std::string> open;
    std::set<ValueId> taken;
    for (const std::string& operand : operands) {
      bool any = false;
      for (const Edge& edge : edges) {
        if (!Reads(edge, operand)) continue;
        taken.insert(edge.value);
        any = true;
      }
      if (!any) open.push_back(operand);
    }
    std::set<ValueId> computed;
    for (const Edge& edge : edges)
      if (!taken.contains(edge.value) && !graph_.is_constant(edge.value))
        computed.insert(edge.value);
    for (const Edge& edge : edges) {
      if (taken.contains(edge.value)) {
        const auto operand = std::find_if(operands.begin(), operands.end(),
                                          [&](const auto& each) { return Reads(edge, each); });
        Add(group, edge, *operand);
        continue;
      }
      const std::vector<std::string> fitting = Fitting(edge, open, computed);
      if (fitting.size() == 1) {
        Add(group, edge, fitting[0]);
      } else if (fitting.empty()) {
        Add(group, edge, "");
      } else {
        found_.uncertain.push_back(
            {edge.node, edge.input, absl::StrJoin(fitting, ","), group.fx.name});
      }
    }
    // An operand that no input is left for is merged with one of the others.
    if (open.empty() || taken.size() < Distinct(edges)) return;
    for (const Edge& edge : edges)
      found_.uncertain.push_back({edge.node, edge.input, absl::StrJoin(open, ","), group.fx.name});
  }

  static size_t Distinct(const std::vector<Edge>& edges) {
    std::set<ValueId> values;
    for (const Edge& edge : edges) values.insert(edge.value);
    return values.size();
  }

  // Selects the operands that the input may be: a parameter only for an initializer of one that
  // has the same last name, or of one that was computed from such. `computed`: the values that are
  // not initializers and that no operand names.
  std::vector<std::string> Fitting(const Edge& edge, const std::vector<std::string>& open,
                                   const std::set<ValueId>& computed) const {
    const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
    std::vector<std::string> own = {last(graph_.value(edge.value).name)};
    const bool constant = graph_.is_constant(edge.value);
    if (constant) {
      for (const std::string& each : exported_.Find(graph_, edge.value).parameters)
        own.push_back(last(each));
    }
    std::vector<std::string> others, parameters, all;
    for (const std::string& operand : open) {
      const std::string target = exported_.Target(operand);
      if (target.empty()) {
        others.push_back(operand);
      } else if (constant) {
        all.push_back(operand);
        if (std::find(own.begin(), own.end(), last(target)) != own.end())
          parameters.push_back(operand);
      }
    }
    if (!constant) {
      if (others.size() == 1 && computed.size() > 1) others.push_back("");
      return others;
    }
    if (parameters.empty()) parameters = all;
    parameters.insert(parameters.end(), others.begin(), others.end());
    return parameters;
  }

  void Add(const Group& group, const Edge& edge, const std::string& operand) {
    found_.certain.push_back({edge.node, edge.input, operand, group.fx.name});
  }

  const Graph& graph_;
  const TorchExport& exported_;
  std::vector<Group> groups_;
  std::map<std::string, size_t> index_;  // of groups_, by the fx node's name
  TorchOperands found_;
};

}  // namespace

TorchOperands FindTorchOperands(const Graph& graph, const TorchExport& exported) {
  return Finder(graph, exported).Run();
}

std::set<std::string> OperandNames(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.node_ids()) {
    if (const std::optional<FxNode> fx = ParseFxNode(graph.node(id)))
      names.insert(fx->operands.begin(), fx->operands.end());
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      names.merge(OperandNames(*subgraph.graph));
  }
  return names;
}

std::string FxNodeOf(const Node& node) {
  const std::optional<FxNode> fx = ParseFxNode(node);
  return fx ? fx->name : "";
}

bool IsDetach(const Node& node) {
  if (node.metadata.contains(kStopGradientKey)) return true;
  const std::optional<FxNode> fx = ParseFxNode(node);
  if (fx) return absl::StartsWith(fx->target, "aten.detach");
  const auto names = node.metadata.find("namespace");
  return names != node.metadata.end() && absl::EndsWith(names->second, "aten.detach.default");
}

}  // namespace onward::training
