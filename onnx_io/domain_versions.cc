#include "onnx_io/domain_versions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

template <typename F>
absl::Status ForEachForeignNode(const Graph& graph, F&& f) {
  for (const NodeId id : graph.node_ids()) {
    if (!graph.node(id).domain.empty()) ONWARD_RETURN_IF_ERROR(f(graph, id));
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      ONWARD_RETURN_IF_ERROR(ForEachForeignNode(*subgraph.graph, f));
  }
  return absl::OkStatus();
}

int64_t NewestVersion(const std::string& domain) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = known.find(domain);
  return range == known.end() ? 1 : range->second.second;
}

}  // namespace

absl::Status CollectDomainVersions(const Graph& graph, std::map<std::string, int64_t>& versions) {
  const auto lower = [&](const Graph& g, NodeId id) {
    const Node& node = g.node(id);
    int64_t& version = versions.try_emplace(node.domain, NewestVersion(node.domain)).first->second;
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(node.op_type, static_cast<int>(version), node.domain);
    if (schema != nullptr && schema->Deprecated())
      version = std::min<int64_t>(version, schema->since_version() - 1);
    return absl::OkStatus();
  };
  ONWARD_RETURN_IF_ERROR(ForEachForeignNode(graph, lower));
  return ForEachForeignNode(graph, [&](const Graph& g, NodeId id) {
    const Node& node = g.node(id);
    const int64_t version = versions[node.domain];
    if (node.schema == nullptr || node.schema->Deprecated() ||
        node.schema->since_version() <= version)
      return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(g.Describe(id), " needs ", node.domain, " ", node.schema->since_version(),
                     ", other ops of the model were removed after ", version));
  });
}

}  // namespace onward::onnx_io
