#include "graph/rewrite/autocast.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/facts.h"
#include "graph/rewrite/add_cast.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward {
namespace {

using TypeNames = std::set<std::string>;  // type parameters of a schema: "T"

bool IsFloat32(const Type& type) { return type.is_tensor() && type.dtype == DType::kFloat32; }

std::string TypeNameOf(const std::vector<onnx::OpSchema::FormalParameter>& formal, size_t i) {
  return formal.empty() ? "" : formal[std::min(i, formal.size() - 1)].GetTypeStr();
}

class Autocaster {
 public:
  Autocaster(Graph& graph, const AutocastOptions& options, int& budget)
      : graph_(graph),
        options_(options),
        dtype_(options.dtype),
        budget_(budget),
        type_name_(absl::StrCat("tensor(", std::string(DTypeName(dtype_)), ")")) {}

  absl::Status Run() {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    for (const NodeId id : order) {
      for (const Subgraph& body : graph_.node(id).subgraphs)
        ONWARD_RETURN_IF_ERROR(Autocaster(*body.graph, options_, budget_).Run());
      if (options_.stays && options_.stays(graph_, id)) continue;
      Lower(id, LoweredTypes(graph_.node(id)));
    }
    for (const auto& [wide, cast] : widened_) {
      const ValueId value{wide};
      if (graph_.users(value).empty() && !graph_.is_output(value))
        GraphEdit(graph_).RemoveNode(cast);
    }
    return absl::OkStatus();
  }

  // The value that stands for one that Run() replaced.
  ValueId Now(ValueId before) const {
    const auto it = replaced_.find(before.index);
    return it == replaced_.end() ? before : it->second;
  }

 private:
  AutocastClass ClassOf(const Node& node) const {
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (facts == nullptr || !node.subgraphs.empty()) return AutocastClass::kFull;
    return facts->autocast;
  }

  bool IsLow(ValueId wide) const { return low_.count(wide.index) > 0; }

  // Rank 0, or a constant of one element.
  bool IsScalar(ValueId value) const {
    const Tensor* constant = graph_.constant(value);
    if (constant != nullptr) return constant->num_elements() == 1;
    const Type& type = graph_.type(value);
    return type.shape && type.shape->empty();
  }

  bool IsConstant(ValueId value) const {
    return graph_.is_constant(value) && !graph_.is_input(value);
  }

  // A vector that is added to a product, as exporters write a linear layer.
  bool IsBiasOf(const Node& node, ValueId value) const {
    if (!node.Is("Add")) return false;
    const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
    if (!graph_.value(value).constant || graph_.type(value).shape->size() > 1 || !IsLow(other))
      return false;
    const NodeId maker = graph_.value(low_.at(other.index)).producer;
    return maker.valid() && graph_.node(maker).Is("MatMul");
  }

  bool Allows(const onnx::OpSchema& schema, const std::string& parameter) const {
    for (const auto& each : schema.typeConstraintParams()) {
      const auto& types = each.allowed_type_strs;
      if (each.type_param_str == parameter)
        return std::find(types.begin(), types.end(), type_name_) != types.end();
    }
    return false;
  }

  bool FollowsOthers(const Node& node, ValueId input) const {
    if (IsScalar(input) || IsBiasOf(node, input)) return true;
    return options_.constants_follow && IsConstant(input);
  }

  // Returns whether the float32 inputs of this type follow the low ones among them.
  bool Follows(const Node& node, const std::string& parameter) const {
    bool any = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || TypeNameOf(node.schema->inputs(), i) != parameter) continue;
      if (!IsFloat32(graph_.type(input))) return false;
      if (IsLow(input)) {
        any = true;
      } else if (!FollowsOthers(node, input)) {
        return false;
      }
    }
    return any;
  }

  // True if the inputs of this type are constants, not all scalars, that follow what they meet.
  bool IsTable(const Node& node, const std::string& parameter) const {
    bool table = false;
    for (size_t i = 0; i < node.inputs.size() && options_.constants_follow; ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || TypeNameOf(node.schema->inputs(), i) != parameter) continue;
      if (!IsFloat32(graph_.type(input)) || !IsConstant(input)) return false;
      table = table || !IsScalar(input);
    }
    return table;
  }

  // The type parameters of the node whose float32 values become low.
  TypeNames LoweredTypes(const Node& node) const {
    TypeNames lowered;
    const AutocastClass autocast = ClassOf(node);
    if (autocast == AutocastClass::kFull || node.schema == nullptr) return lowered;
    for (const std::vector<ValueId>& values : {node.inputs, node.outputs}) {
      for (const ValueId value : values)
        if (value.valid() && !graph_.type(value).is_tensor()) return lowered;
    }
    TypeNames results;
    for (const auto& output : node.schema->outputs()) results.insert(output.GetTypeStr());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string parameter = TypeNameOf(node.schema->inputs(), i);
      if (!node.inputs[i].valid() || !IsFloat32(graph_.type(node.inputs[i]))) continue;
      if (!Allows(*node.schema, parameter)) continue;
      const bool made = results.count(parameter) > 0;
      const bool lower = autocast == AutocastClass::kLower
                             ? made
                             : Follows(node, parameter) || (made && IsTable(node, parameter));
      if (lower) lowered.insert(parameter);
    }
    return lowered;
  }

  void Lower(NodeId id, const TypeNames& lowered) {
    if (lowered.empty() || budget_ <= 0) return;
    --budget_;
    const onnx::OpSchema& schema = *graph_.node(id).schema;
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (input.valid() && IsFloat32(graph_.type(input)) &&
          lowered.count(TypeNameOf(schema.inputs(), i)) > 0)
        GraphEdit(graph_).SetInput(id, static_cast<int>(i), LowOf(input));
    }
    if (IsCast(graph_.node(id))) return;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid() && IsFloat32(graph_.type(outputs[i])) &&
          lowered.count(TypeNameOf(schema.outputs(), i)) > 0)
        LowerOutput(outputs[i]);
    }
  }

  // Its output has the dtype that its attribute says.
  static bool IsCast(const Node& node) { return node.Is("Cast"); }

  std::string LowName(const std::string& name) const {
    return graph_.UniqueName(absl::StrCat(name, "_", std::string(DTypeName(dtype_))));
  }

  ValueId LowOf(ValueId wide) {
    if (const auto it = low_.find(wide.index); it != low_.end()) return it->second;
    if (const auto it = copies_.find(wide.index); it != copies_.end()) return it->second;
    Type type = graph_.type(wide);
    type.dtype = dtype_;
    const ValueId copy =
        GraphEdit(graph_).AddValue(LowName(graph_.value(wide).name), std::move(type));
    AddCast(graph_, wide, copy, "autocast");
    copies_[wide.index] = copy;
    return copy;
  }

  // The output becomes low; its readers read it cast back, until they become low themselves.
  void LowerOutput(ValueId output) {
    const Type type = graph_.type(output);
    const std::string name = graph_.value(output).name;
    GraphEdit(graph_).Rename(output, LowName(name));
    const ValueId wide = GraphEdit(graph_).AddValue(name, type);
    std::swap(GraphEdit(graph_).doc_string(wide), GraphEdit(graph_).doc_string(output));
    std::swap(GraphEdit(graph_).metadata(wide), GraphEdit(graph_).metadata(output));
    GraphEdit(graph_).ReplaceUses(output, wide);
    GraphEdit(graph_).type(output).dtype = dtype_;
    widened_[wide.index] = AddCast(graph_, output, wide, "autocast");
    low_[wide.index] = output;
    replaced_[output.index] = wide;
  }

  Graph& graph_;
  const AutocastOptions& options_;
  const DType dtype_;
  int& budget_;
  const std::string type_name_;
  std::map<int32_t, ValueId> low_;     // float32 value -> what is computed
  std::map<int32_t, ValueId> copies_;  // float32 value -> its Cast
  std::map<int32_t, NodeId> widened_;  // float32 value of low_ -> the Cast that makes it
  std::map<int32_t, ValueId> replaced_;
};

}  // namespace

absl::Status Autocast(Model& model, const AutocastOptions& options, int& budget) {
  Autocaster autocaster(model.graph, options, budget);
  ONWARD_RETURN_IF_ERROR(Annotate(autocaster.Run(), "autocast:"));
  for (UpdateBinding& update : model.updates) update.output = autocaster.Now(update.output);
  return absl::OkStatus();
}

absl::Status Autocast(Model& model, DType dtype, int& budget) {
  AutocastOptions options;
  options.dtype = dtype;
  return Autocast(model, options, budget);
}

}  // namespace onward
