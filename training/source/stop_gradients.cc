#include "training/source/stop_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/closest_name.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "onward/dtype.h"
#include "onward/session.h"
#include "training/source/torch_operands.h"

namespace onward::training {
namespace {

// In the metadata of a graph whose inputs have been looked at. Rewrites may change later what the
// texts beside its nodes speak of.
constexpr char kDetachedKey[] = "onward.detached";

bool IsStop(const Node& node) { return node.Is("StopGradient", kOnwardDomain); }

bool IsStopped(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  return maker.valid() && IsStop(graph.node(maker));
}

void MakeStop(Node& node) {
  node.domain = kOnwardDomain;
  node.op_type = "StopGradient";
  node.schema = FindSchema("StopGradient", kOnwardDomain);
}

void AddStop(Graph& graph, ValueId value, ValueId stopped) {
  Node node;
  MakeStop(node);
  node.name = graph.value(stopped).name;
  node.inputs = {value};
  node.outputs = {stopped};
  GraphEdit(graph).AddNode(std::move(node));
}

bool SaysDetach(const std::string& operands) {
  const std::vector<std::string> names = absl::StrSplit(operands, ',');
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& each) { return WithoutNumber(each) == "detach"; });
}

// The other name, where the operand is a computation that the exporter merged with an equal one.
std::string MergedWith(const Graph& graph, const TorchOperand& operand) {
  const ValueId value = graph.node(operand.node).inputs[static_cast<size_t>(operand.input)];
  const NodeId maker = Maker(graph, value);
  if (operand.name.empty() || !maker.valid() || graph.value(value).name == operand.name) return "";
  const std::string fx = FxNodeOf(graph.node(maker));
  const bool merged = fx != operand.name && WithoutNumber(fx) == WithoutNumber(operand.name);
  return merged ? fx : "";
}

void StopInputs(Graph& graph, const TorchExport& exported, DetachReport& report) {
  const TorchOperands operands = FindTorchOperands(graph, exported);
  std::map<ValueId, ValueId> stopped;
  for (const TorchOperand& operand : operands.certain) {
    const ValueId value = graph.node(operand.node).inputs[static_cast<size_t>(operand.input)];
    if (IsStopped(graph, value)) continue;
    if (SaysDetach(operand.name) && !IsStop(graph.node(operand.node))) {
      const auto [it, inserted] = stopped.try_emplace(value, ValueId());
      if (inserted) {
        it->second = GraphEdit(graph).AddValue(
            graph.UniqueName(absl::StrCat(graph.value(value).name, "/detached")),
            graph.type(value));
        AddStop(graph, value, it->second);
      }
      GraphEdit(graph).SetInput(operand.node, operand.input, it->second);
      ++report.stopped;
      continue;
    }
    const std::string other = MergedWith(graph, operand);
    if (other.empty()) continue;
    report.doubtful.push_back(absl::StrCat(
        graph.Describe(operand.node), ": the exporter merged '", operand.name, "' with '", other,
        "', of which the source may detach one, or read another weight"));
  }
  for (const TorchOperand& operand : operands.uncertain) {
    const ValueId value = graph.node(operand.node).inputs[static_cast<size_t>(operand.input)];
    if (!SaysDetach(operand.name) || IsStopped(graph, value)) continue;
    report.doubtful.push_back(absl::StrCat(graph.Describe(operand.node),
                                           ": one of its inputs is detached, '",
                                           graph.value(value).name, "' perhaps"));
  }
}

// Source lines that detach, of a file in which nothing else says so.
void NoteLines(const Graph& graph, const TorchExport& exported, DetachReport& report) {
  for (int i = 0; i < graph.num_values(); ++i) {
    if (graph.is_constant({i}) && exported.Find(graph, {i}).mentions_detach) return;
  }
  for (const NodeId id : graph.node_ids()) {
    const Metadata& metadata = graph.node(id).metadata;
    const auto trace = metadata.find("pkg.torch.onnx.stack_trace");
    if (trace == metadata.end() || !absl::StrContains(trace->second, ".detach(")) continue;
    report.doubtful.push_back(
        absl::StrCat(graph.Describe(id),
                     ": its line of the source detaches a value, and the file has no trace "
                     "of where"));
    return;
  }
}

}  // namespace

DetachReport StopDetached(Graph& graph) {
  DetachReport report;
  const TorchExport exported(graph);
  const bool looked_at = graph.metadata.contains(kDetachedKey);
  const auto visit = [&](const auto& self, Graph& at) -> void {
    for (const NodeId id : at.node_ids()) {
      Node& node = GraphEdit(at).node(id);
      if (node.Is("Identity") && IsDetach(node)) {
        MakeStop(node);
        ++report.stopped;
      }
      for (Subgraph& subgraph : node.subgraphs) self(self, *subgraph.graph);
    }
    if (!looked_at) StopInputs(at, exported, report);
  };
  visit(visit, graph);
  if (looked_at) return report;
  if (exported.speaks() || report.stopped > 0) graph.metadata.try_emplace(kDetachedKey, "yes");
  if (report.stopped == 0 && report.doubtful.empty()) NoteLines(graph, exported, report);
  return report;
}

absl::Status StopGradientsAt(Graph& graph, absl::Span<const std::string> patterns,
                             const std::string& field) {
  std::vector<std::string> names;
  for (int i = 0; i < graph.num_values(); ++i) names.push_back(graph.value({i}).name);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i) {
      const ValueId value{static_cast<int32_t>(i)};
      if (!MatchesPattern(names[i], pattern)) continue;
      any = true;
      const std::vector<NodeId> readers = graph.users(value);
      const bool all_stop = std::all_of(readers.begin(), readers.end(),
                                        [&](NodeId reader) { return IsStop(graph.node(reader)); });
      if (all_stop && !graph.is_output(value)) continue;
      const bool output = graph.is_output(value);
      if (output)
        GraphEdit(graph).Rename(value, graph.UniqueName(absl::StrCat(names[i], "/attached")));
      const ValueId stopped = GraphEdit(graph).AddValue(
          output ? names[i] : graph.UniqueName(absl::StrCat(names[i], "/detached")),
          graph.type(value));
      GraphEdit(graph).ReplaceUses(value, stopped);
      AddStop(graph, value, stopped);
    }
    if (any) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, ": no value of the model matches '",
                                                   pattern, "'", DidYouMean(pattern, names),
                                                   " (onward inspect --values lists them)"));
  }
  return absl::OkStatus();
}

void StopGradientsToIdentities(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = GraphEdit(graph).node(id);
    for (Subgraph& subgraph : node.subgraphs) StopGradientsToIdentities(*subgraph.graph);
    if (!IsStop(node)) continue;
    node.domain.clear();
    node.op_type = "Identity";
    node.schema = FindSchema("Identity", "");
    node.metadata.try_emplace(kStopGradientKey, "yes");
  }
}

}  // namespace onward::training
