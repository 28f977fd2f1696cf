#include "tests/support/same_model.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace onward::testing {
namespace {

std::string Name(const Graph& graph, ValueId id) {
  return id.valid() ? graph.value(id).name : "(none)";
}

std::string ValueDifference(const Graph& a, ValueId in_a, const Graph& b, ValueId in_b) {
  if (in_a.valid() != in_b.valid() || Name(a, in_a) != Name(b, in_b)) {
    return absl::StrCat("value '", Name(a, in_a), "' against '", Name(b, in_b), "'");
  }
  if (!in_a.valid()) return "";
  const ValueData& left = a.value(in_a);
  const ValueData& right = b.value(in_b);
  const std::string where = absl::StrCat("value '", left.name, "': ");
  if (!(left.type == right.type)) {
    return absl::StrCat(where, left.type.ToString(), " against ", right.type.ToString());
  }
  if (left.constant.has_value() != right.constant.has_value()) return where + "constant or not";
  if (left.constant && !SameBits(*left.constant, *right.constant)) return where + "its data";
  if (left.doc_string != right.doc_string) return where + "its documentation";
  if (left.metadata != right.metadata) return where + "its metadata";
  return "";
}

std::string ListDifference(const Graph& a, const std::vector<ValueId>& in_a, const Graph& b,
                           const std::vector<ValueId>& in_b) {
  if (in_a.size() != in_b.size()) {
    return absl::StrCat(in_a.size(), " against ", in_b.size(), " values");
  }
  for (size_t i = 0; i < in_a.size(); ++i) {
    std::string difference = ValueDifference(a, in_a[i], b, in_b[i]);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string NodeDifference(const Graph& a, NodeId in_a, const Graph& b, NodeId in_b) {
  const Node& left = a.node(in_a);
  const Node& right = b.node(in_b);
  const auto found = [&](std::string_view what) {
    return absl::StrCat(a.Describe(in_a), " against ", b.Describe(in_b), ": ", std::string(what));
  };
  if (left.op_type != right.op_type || left.domain != right.domain) return found("another op");
  if (left.schema != right.schema) return found("another schema");
  if (left.name != right.name) return found("another name");
  if (left.doc_string != right.doc_string) return found("documentation");
  if (left.metadata != right.metadata) return found("metadata");
  if (!(left.attributes == right.attributes)) return found("attributes");
  std::string difference = ListDifference(a, left.inputs, b, right.inputs);
  if (!difference.empty()) return found("inputs: " + difference);
  difference = ListDifference(a, left.outputs, b, right.outputs);
  if (!difference.empty()) return found("outputs: " + difference);
  if (left.subgraphs.size() != right.subgraphs.size()) return found("number of subgraphs");
  for (size_t i = 0; i < left.subgraphs.size(); ++i) {
    const Subgraph& l = left.subgraphs[i];
    const Subgraph& r = right.subgraphs[i];
    if (l.attribute != r.attribute) return found("names of subgraphs");
    difference = ListDifference(a, l.captures, b, r.captures);
    if (difference.empty()) difference = GraphDifference(*l.graph, *r.graph);
    if (!difference.empty()) return found(l.attribute + ": " + difference);
  }
  return "";
}

}  // namespace

std::string GraphDifference(const Graph& a, const Graph& b) {
  // The standard wants a name, so nameless graphs get one.
  if (!a.name.empty() && a.name != b.name)
    return absl::StrCat("graph '", a.name, "' against '", b.name, "'");
  if (a.doc_string != b.doc_string) return "documentation of the graph";
  if (a.metadata != b.metadata) return "metadata of the graph";
  std::string difference = ListDifference(a, a.inputs(), b, b.inputs());
  if (!difference.empty()) return "graph inputs: " + difference;
  difference = ListDifference(a, a.outputs(), b, b.outputs());
  if (!difference.empty()) return "graph outputs: " + difference;
  if (a.captures().size() != b.captures().size()) return "number of captures";
  const std::vector<NodeId> in_a = a.TopologicalOrder().value();
  const std::vector<NodeId> in_b = b.TopologicalOrder().value();
  if (in_a.size() != in_b.size()) {
    return absl::StrCat(in_a.size(), " against ", in_b.size(), " nodes");
  }
  for (size_t i = 0; i < in_a.size(); ++i) {
    difference = NodeDifference(a, in_a[i], b, in_b[i]);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string ModelDifference(const Model& a, const Model& b) {
  if (a.opsets != b.opsets) return "opsets";
  if (a.producer_name != b.producer_name || a.producer_version != b.producer_version) {
    return "producer";
  }
  if (a.domain != b.domain || a.model_version != b.model_version) return "domain or version";
  if (a.doc_string != b.doc_string) return "documentation";
  if (a.metadata != b.metadata) return "metadata";
  if (a.updates.size() != b.updates.size()) return "number of updates";
  for (size_t i = 0; i < a.updates.size(); ++i) {
    std::string difference = ListDifference(a.graph, {a.updates[i].input, a.updates[i].output},
                                            b.graph, {b.updates[i].input, b.updates[i].output});
    if (!difference.empty()) return "updates: " + difference;
  }
  return GraphDifference(a.graph, b.graph);
}

}  // namespace onward::testing
