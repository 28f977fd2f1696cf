#include "onnx_io/lower_opset.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/infer/check.h"
#include "graph/infer/type_proto.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/opset.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onnx_io/expand_functions.h"
#include "onnx_io/lower_rules.h"
#include "onnx_io/problems.h"
#include "onnx_io/upgrade/rules.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

using onnx::OpSchema;

// Where a newer version only takes dtypes away, what it still allows means the same before it.
bool OnlyNarrows(const std::string& op, int64_t until) {
  return until == 28 && (op == "ReduceLogSum" || op == "ReduceLogSumExp");
}

bool ChangesMeaning(const std::string& op, int64_t until) {
  if (OnlyNarrows(op, until)) return false;
  for (const UpgradeRule& rule : UpgradeRulesOf("", op)) {
    if (rule.until == until) return true;
  }
  return false;
}

// Returns whether no window of the pool can start in the padding behind the data.
bool WindowsStartInData(const Node& node) {
  const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape");
  const std::vector<int64_t> pads = node.attributes.Ints("pads");
  const std::vector<int64_t> strides = node.attributes.Ints("strides");
  const std::vector<int64_t> dilations = node.attributes.Ints("dilations");
  const std::string auto_pad = node.attributes.String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t stride = i < strides.size() ? strides[i] : 1;
    const int64_t dilation = i < dilations.size() ? dilations[i] : 1;
    const int64_t end = kernel.size() + i < pads.size() ? pads[kernel.size() + i] : 0;
    if (stride + end > (kernel[i] - 1) * dilation + 1) return false;
  }
  return true;
}

bool IsOneOf(const std::string& text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// Finds changes that schemas do not show: the remainder of floats rounded down came with opset 28,
// windows of pools that would start in the padding are left out since opset 22, modes were added,
// and before opset 13 a scale was one number.
int64_t OldestOfMeaning(const Graph& graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  const std::string& op = node.op_type;
  if (op == "Mod" && !node.inputs.empty() && node.inputs[0].valid() &&
      attributes.Int("fmod", 0) == 0 && IsFloating(graph.type(node.inputs[0]).dtype))
    return node.schema->since_version();
  if (IsOneOf(op, {"MaxPool", "AveragePool", "LpPool"}) && attributes.Int("ceil_mode", 0) != 0 &&
      !WindowsStartInData(node))
    return node.schema->since_version();
  if (op == "Pad" && attributes.String("mode") == "wrap") return 19;
  if (op == "Resize" &&
      attributes.String("coordinate_transformation_mode") == "half_pixel_symmetric")
    return 19;
  if (IsOneOf(op, {"ScatterElements", "ScatterND"}) &&
      IsOneOf(attributes.String("reduction"), {"max", "min"}))
    return 18;
  if (IsOneOf(op, {"QuantizeLinear", "DequantizeLinear"}) && RankOf(graph, node.inputs[1]) != 0)
    return 13;
  return 1;
}

bool TakesOutputs(const OpSchema& schema, const Graph& graph, const Node& node) {
  const auto& formals = schema.outputs();
  for (size_t i = 0; i < node.outputs.size() && !formals.empty(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const Type& type = graph.type(node.outputs[i]);
    const auto& allowed = formals[std::min(i, formals.size() - 1)].GetTypes();
    const bool of_tensors =
        type.is_tensor() || (type.element != nullptr && type.element->is_tensor());
    if (allowed.empty() || !of_tensors) continue;
    onnx::TypeProto proto;
    TypeToProto(type.is_tensor() ? Type::Tensor(type.dtype) : type, &proto);
    if (allowed.count(onnx::Utils::DataTypeUtils::ToType(proto)) == 0) return false;
  }
  return true;
}

// The op of an older version, null where there was none.
const OpSchema* SchemaBefore(const std::string& op, int64_t version) {
  const OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(version) - 1, "");
  return schema == nullptr || schema->deprecated() ? nullptr : schema;
}

// Attributes that `schema` does not have, and whose values are the defaults of now.
void DropNewDefaults(Node& node, const OpSchema& schema) {
  const Attributes attributes = node.attributes;
  for (const auto& [name, value] : attributes.map()) {
    if (schema.attributes().count(name) > 0) continue;
    const auto newest = node.schema->attributes().find(name);
    if (newest == node.schema->attributes().end()) continue;
    const onnx::AttributeProto& otherwise = newest->second.default_value;
    const auto* integer = std::get_if<int64_t>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const bool same = otherwise.has_i()   ? integer != nullptr && *integer == otherwise.i()
                      : otherwise.has_s() ? text != nullptr && *text == otherwise.s()
                                          : false;
    if (same) node.attributes.Erase(name);
  }
}

// Goes back version by version down to `opset` at most, changing the node by rules where `rules`
// says so. `graph` is a copy: the node's schema is changed on the way. `why` says what ends it.
int64_t GoBack(Graph& graph, NodeId id, int64_t opset, bool rules, std::string* why) {
  int64_t oldest = GraphEdit(graph).node(id).schema->since_version();
  const int64_t by_meaning = OldestOfMeaning(graph, graph.node(id));
  while (oldest > opset) {
    const std::string op = graph.node(id).op_type;
    if (by_meaning >= oldest) {
      *why = "it meant something else, or nothing, before";
      return oldest;
    }
    const OpSchema* before = SchemaBefore(op, oldest);
    if (before == nullptr) return oldest;
    const LowerRule* rule = rules ? FindLowerRule(op, oldest) : nullptr;
    if (rule == nullptr && ChangesMeaning(op, oldest)) return oldest;
    if (rule != nullptr) {
      if (const absl::Status status = rule->apply(graph, id); !status.ok()) {
        *why = std::string(status.message());
        return oldest;
      }
      if (!graph.alive(id)) return opset;  // by nodes that all were there
    }
    Node& node = GraphEdit(graph).node(id);
    if (rules) DropNewDefaults(node, *before);
    node.schema = before;
    if (const absl::Status status = CheckAgainstSchema(graph, id); !status.ok()) {
      *why = std::string(status.message());
      return oldest;
    }
    if (!TakesOutputs(*before, graph, node)) {
      *why = "it did not make this element type";
      return oldest;
    }
    oldest = before->since_version();
  }
  return std::max({oldest, opset, by_meaning});
}

// Calls found(opset, node, why) for every node of ai.onnx, by its oldest opset.
template <typename F>
void ForEachOldest(Graph& graph, int64_t opset, bool rules, F&& found) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      ForEachOldest(*subgraph.graph, opset, rules, found);
    }
    const OpSchema* schema = graph.node(id).schema;
    if (schema == nullptr || !graph.node(id).domain.empty()) continue;
    const std::string where = graph.Describe(id);
    std::string why;
    found(GoBack(graph, id, opset, rules, &why), where, why);
    if (graph.alive(id)) GraphEdit(graph).node(id).schema = schema;
  }
}

// Returns whether the op was there at `opset`, or became by changes that can be undone what it is.
bool WasThere(const Node& node, int64_t opset) {
  if (!node.domain.empty() || node.schema == nullptr) return true;
  for (const OpSchema* schema = node.schema; schema->since_version() > opset;) {
    const int64_t since = schema->since_version();
    if (ChangesMeaning(node.op_type, since) && FindLowerRule(node.op_type, since) == nullptr)
      return false;
    schema = SchemaBefore(node.op_type, since);
    if (schema == nullptr) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckExportedOpset(int64_t opset) {
  if (opset >= kOldestLoweredOpset && opset <= kOpset) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("opset ", opset, " cannot be written, only ",
                                                 kOldestLoweredOpset, " to ", kOpset));
}

int64_t OldestOpset(const Graph& graph) {
  Graph copy(graph);
  int64_t opset = kOldestExportedOpset;
  ForEachOldest(copy, kOldestExportedOpset, false,
                [&](int64_t oldest, const std::string&, const std::string&) {
                  opset = std::max(opset, oldest);
                });
  return opset;
}

absl::Status LowerGraph(Graph& graph, int64_t opset) {
  // Rules look at constants, which bodies know as captures.
  const std::vector<Pass> passes = {{"sink_small_constants", SinkSmallConstants}};
  ONWARD_RETURN_IF_ERROR(RunPasses(graph, passes, PassOptions()).status());
  ONWARD_RETURN_IF_ERROR(ExpandFunctions(
      graph, [&](const Graph& g, NodeId id) { return WasThere(g.node(id), opset); }));
  Problems problems;
  ForEachOldest(
      graph, opset, true, [&](int64_t oldest, const std::string& where, const std::string& why) {
        if (oldest <= opset) return;
        problems.Unsupported(absl::StrCat(where, " needs opset ", oldest, ", opset ", opset,
                                          " is asked for", why.empty() ? "" : ": ", why));
      });
  return problems.ToStatus();
}

}  // namespace onward::onnx_io
