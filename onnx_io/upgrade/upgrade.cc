#include "onnx_io/upgrade/upgrade.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/schema.h"
#include "onnx_io/import.h"
#include "onnx_io/upgrade/node_upgrade.h"
#include "onnx_io/upgrade/rules.h"

namespace onward {

namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";

struct Failures {
  std::vector<std::string> messages;
  bool invalid = false;  // some node breaks the standard, instead of being unsupported only

  void Add(std::string where, const absl::Status& status) {
    messages.push_back(absl::StrCat(where, " ", std::string(status.message())));
    invalid |= status.code() != absl::StatusCode::kUnimplemented;
  }
  absl::Status ToStatus() const {
    if (messages.empty()) return absl::OkStatus();
    const std::string text = absl::StrJoin(messages, "; ");
    return invalid ? absl::InvalidArgumentError(text) : absl::UnimplementedError(text);
  }
};

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
  absl::flat_hash_map<std::pair<std::string, std::string>, const onnx::OpSchema*> found_;
};

// Whether the rule is for a node whose op came into being with `since` (0: in no registry).
bool Applies(const UpgradeRule& rule, int64_t since) {
  return since == 0 ? rule.until == kLeftover : rule.until > since;
}

bool AnyApplies(const Node& node, int64_t since) {
  for (const UpgradeRule& rule : UpgradeRulesOf(node.domain, node.op_type)) {
    if (Applies(rule, since)) return true;
  }
  return false;
}

// Applies the rules of the node's op in order; a rule that makes another op of it goes on with that
// op's later rules.
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

void UpgradeNode(Graph& graph, NodeId id, NewestSchemas& schemas, Failures& failures) {
  Node& node = graph.mutable_node(id);
  if (!node.domain.empty() && node.domain != kMlDomain) return;
  const int64_t since = node.schema == nullptr ? 0 : node.schema->since_version();
  if (!AnyApplies(node, since)) {
    if (node.schema != nullptr) node.schema = schemas.Find(node.domain, node.op_type);
    return;
  }
  const std::string where = graph.Describe(id);
  NodeUpgrade upgrade(graph, id);
  if (absl::Status status = ApplyRules(upgrade, since); !status.ok()) {
    failures.Add(where, status);
  }
  upgrade.node.schema = schemas.Find(upgrade.node.domain, upgrade.node.op_type);
  upgrade.Commit();
}

// `schemas` and `failures` are of the whole model.
void UpgradeBody(Graph& graph, NewestSchemas& schemas, Failures& failures) {
  const int num_nodes = graph.num_nodes();  // those that rules add are new already
  for (int i = 0; i < num_nodes; ++i) {
    const NodeId id{i};
    if (!graph.alive(id)) continue;
    for (Subgraph& subgraph : graph.mutable_node(id).subgraphs) {
      UpgradeBody(*subgraph.graph, schemas, failures);
    }
    UpgradeNode(graph, id, schemas, failures);
  }
}

}  // namespace

absl::Status UpgradeGraph(Graph& graph) {
  NewestSchemas schemas;
  Failures failures;
  UpgradeBody(graph, schemas, failures);
  return failures.ToStatus();
}

}  // namespace onward
