#include "onnx_io/upgrade/upgrade.h"

#include <string>
#include <utility>

#include "graph/base/hash_map.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx_io/problems.h"
#include "onnx_io/upgrade/node_upgrade.h"
#include "onnx_io/upgrade/rules.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward::onnx_io {

namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";

// The newest schema of each op, remembered.
class NewestSchemas {
 public:
  const onnx::OpSchema* Find(const std::string& domain, const std::string& op) {
    auto [it, inserted] = found_.try_emplace(std::make_pair(domain, op), nullptr);
    if (inserted) {
      const int64_t version = domain == kMlDomain ? kMlOpset : kOpset;
      it->second = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
    }
    return it->second;
  }

 private:
  HashMap<std::pair<std::string, std::string>, const onnx::OpSchema*> found_;
};

// Returns whether the rule is for a node whose op came into being with `since` (0: in no registry).
bool Applies(const UpgradeRule& rule, int64_t since) {
  return since == 0 ? rule.until == kLeftover : rule.until > since;
}

bool AnyApplies(std::string_view domain, std::string_view op, int64_t since) {
  for (const UpgradeRule& rule : UpgradeRulesOf(domain, op)) {
    if (Applies(rule, since)) return true;
  }
  return false;
}

// Applies the rules of the node's op in order; a rule that makes another op of it continues with
// that op's later rules.
absl::Status ApplyRules(NodeUpgrade& upgrade, int64_t since) {
  int64_t done = since;
  for (bool changed = true; changed && !upgrade.dropped();) {
    changed = false;
    const std::string op = upgrade.node.op_type;
    for (const UpgradeRule& rule : UpgradeRulesOf(upgrade.node.domain, op)) {
      if (!Applies(rule, since) || rule.until <= done) continue;
      if (absl::Status status = rule.apply(upgrade); !status.ok()) return status;
      done = rule.until;
      if (upgrade.dropped()) break;
      if (upgrade.node.op_type != op) {
        changed = true;
        break;
      }
    }
  }
  return absl::OkStatus();
}

constexpr int64_t kLastOpsetWithLeftovers = 9;

// Ops that ONNX Runtime writes in the standard's domain at any opset.
bool IsOnnxRuntimeOwn(std::string_view op) {
  return op == "LayerNormalization" || op == "SimplifiedLayerNormalization";
}

// True if the types that an older schema inferred may have other sizes than the newest one's.
bool SizesChanged(const Node& node, int64_t since, int64_t newest) {
  if (!node.domain.empty() || since == newest) return false;
  if (node.op_type == "Resize" || node.op_type == "Upsample") return true;
  const bool pool = node.op_type == "AveragePool" || node.op_type == "MaxPool";
  return pool && node.attributes.Int("ceil_mode", 0) != 0;
}

struct Run {
  NewestSchemas schemas;
  Problems problems;
  bool outdated = false;  // types
};

void UpgradeNode(Graph& graph, NodeId id, Run& run) {
  Node& node = GraphEdit(graph).node(id);
  if (!node.domain.empty() && node.domain != kMlDomain) return;
  const int64_t since = node.schema == nullptr ? 0 : node.schema->since_version();
  if (!AnyApplies(node.domain, node.op_type, since)) {
    if (node.schema == nullptr) return;
    node.schema = run.schemas.Find(node.domain, node.op_type);
    run.outdated |= SizesChanged(node, since, node.schema->since_version());
    return;
  }
  const std::string where = graph.Describe(id);
  NodeUpgrade upgrade(graph, id);
  run.problems.Add(where + " ", ApplyRules(upgrade, since));
  upgrade.node.schema = run.schemas.Find(upgrade.node.domain, upgrade.node.op_type);
  // Its outputs could not be typed before.
  run.outdated |= since == 0;
  if (upgrade.node.schema != nullptr)
    run.outdated |= SizesChanged(upgrade.node, since, upgrade.node.schema->since_version());
  upgrade.Commit();
}

void UpgradeBody(Graph& graph, Run& run) {
  const int num_nodes = graph.num_nodes();  // those that rules add are new already
  for (int i = 0; i < num_nodes; ++i) {
    const NodeId id{i};
    if (!graph.alive(id)) continue;
    for (const Subgraph& subgraph : graph.node(id).subgraphs) UpgradeBody(*subgraph.graph, run);
    UpgradeNode(graph, id, run);
  }
  run.outdated |= graph.num_nodes() > num_nodes;
}

}  // namespace

absl::StatusOr<bool> UpgradeGraph(Graph& graph) {
  Run run;
  UpgradeBody(graph, run);
  ONWARD_RETURN_IF_ERROR(run.problems.ToStatus());
  return run.outdated;
}

bool UpgradesRemovedOp(std::string_view domain, std::string_view op, int64_t opset,
                       const onnx::OpSchema* schema) {
  if (schema == nullptr && opset > kLastOpsetWithLeftovers && !IsOnnxRuntimeOwn(op)) return false;
  return AnyApplies(domain, op, schema == nullptr ? 0 : schema->since_version());
}

}  // namespace onward::onnx_io
