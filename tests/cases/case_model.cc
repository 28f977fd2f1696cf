#include "tests/cases/case_model.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "tests/support/kernel_runner.h"

namespace onward::cases {

Model CaseModel(const OpCase& c, uint64_t constants) {
  Model model;
  GraphEdit edit(model.graph);
  Node node;
  node.op_type = c.op;
  node.domain = c.domain;
  node.schema = FindSchema(c.op, c.domain);
  node.attributes = c.attributes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& tensor = c.inputs[i];
    const std::string name = absl::StrCat("x", i);
    if (tensor.empty()) {
      node.inputs.push_back({});
      continue;
    }
    node.inputs.push_back(constants >> (i % 64) & 1
                              ? edit.AddConstant(name, tensor)
                              : edit.AddInput(name, Type::Tensor(tensor.dtype(), tensor.dims())));
  }
  for (size_t i = 0; i < c.expected.size(); ++i) {
    node.outputs.push_back(c.expected[i].empty() ? ValueId()
                                                 : edit.AddValue(absl::StrCat("y", i), Type()));
  }
  const std::vector<ValueId> outputs = node.outputs;
  edit.AddNode(std::move(node));
  for (const ValueId id : outputs) {
    if (id.valid()) edit.AddOutput(id);
  }
  model.opsets[""] = kOpset;
  return model;
}

std::string CaseDifference(const OpCase& c, Session& session) {
  Session::Inputs inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (!c.inputs[i].empty()) inputs[absl::StrCat("x", i)] = Value(c.inputs[i]);
  const auto outputs = session.Run(inputs);
  if (!outputs.ok()) return std::string(outputs.status().message());
  for (size_t i = 0; i < c.expected.size(); ++i) {
    if (c.expected[i].empty()) continue;
    const std::string name = absl::StrCat("y", i);
    const std::string difference =
        testing::Difference(outputs->at(name).tensor(), c.expected[i], c.rtol, c.atol);
    if (!difference.empty()) return absl::StrCat(name, ": ", difference);
  }
  return "";
}

}  // namespace onward::cases
