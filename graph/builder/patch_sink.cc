#include "graph/builder/patch_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"

namespace onward {

const Type& PatchSink::TypeOf(ValueId id) const {
  const auto it = to_scratch_.find(id.index);
  return it == to_scratch_.end() ? patch_.graph().type(id) : scratch_.type(it->second);
}

const std::string& PatchSink::NameOf(ValueId id) const {
  const auto it = to_scratch_.find(id.index);
  return it == to_scratch_.end() ? patch_.graph().value(id).name : scratch_.value(it->second).name;
}

ValueId PatchSink::Scratch(ValueId id) {
  if (!id.valid()) return id;
  const auto [it, added] = to_scratch_.try_emplace(id.index);
  if (added) {
    const ValueData& value = patch_.graph().value(id);
    it->second = GraphEdit(scratch_).AddValue(scratch_.UniqueName(value.name), value.type);
    // A graph input's constant is only its default.
    if (!patch_.graph().is_input(id)) {
      GraphEdit(scratch_).constant(it->second) = value.constant;
    }
  }
  return it->second;
}

ValueId PatchSink::AddConstant(std::string_view name, Tensor data) {
  const ValueId scratch = GraphEdit(scratch_).AddConstant(scratch_.UniqueName(name), data);
  const ValueId id = patch_.AddConstant("", std::move(data));
  to_scratch_[id.index] = scratch;
  return id;
}

absl::StatusOr<std::vector<ValueId>> PatchSink::AddNode(Node node,
                                                        const std::vector<bool>& wanted) {
  Node trial;
  trial.schema = node.schema;
  trial.domain = node.domain;
  trial.op_type = node.op_type;
  trial.attributes = node.attributes;
  for (ValueId input : node.inputs) trial.inputs.push_back(Scratch(input));
  for (const Subgraph& subgraph : node.subgraphs) {
    std::vector<ValueId> captures;
    for (ValueId capture : subgraph.captures) captures.push_back(Scratch(capture));
    trial.subgraphs.push_back(
        {subgraph.attribute, std::make_unique<Graph>(*subgraph.graph), std::move(captures)});
  }
  for (const bool output : wanted) {
    if (!output) {
      trial.outputs.emplace_back();
      continue;
    }
    const std::string name = absl::StrCat(patch_.label(), "/", node.op_type);
    trial.outputs.push_back(GraphEdit(scratch_).AddValue(scratch_.UniqueName(name), Type()));
  }
  const std::vector<ValueId> inferred = trial.outputs;
  const NodeId id = GraphEdit(scratch_).AddNode(std::move(trial));
  ONWARD_RETURN_IF_ERROR(InferNode(scratch_, id, &known_));
  std::vector<ValueId> outputs = patch_.AddNodeWithOutputs(std::move(node), wanted);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid()) to_scratch_[outputs[i].index] = inferred[i];
  }
  return outputs;
}

}  // namespace onward
