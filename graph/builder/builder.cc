#include "onward/builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/check_shapes.h"
#include "graph/infer/merge.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onward/status.h"

namespace onward {

GraphBuilder::GraphBuilder(std::string name) : GraphBuilder(std::make_unique<Model>()) {
  model_->graph.name = std::move(name);
}

GraphBuilder::GraphBuilder(std::unique_ptr<Model> model)
    : GraphSink(model->graph), model_(std::move(model)) {}

Expr GraphBuilder::Input(std::string name, DType dtype, std::initializer_list<DimArg> dims) {
  SymbolicDims shape;
  for (const DimArg& arg : dims) shape.push_back(arg.dim);
  return Input(std::move(name), Type::Tensor(dtype, std::move(shape)));
}

Expr GraphBuilder::Input(std::string name, Type type) {
  if (graph().FindValue(name).valid()) {
    Fail(absl::InvalidArgumentError(absl::StrCat("there is already a value '", name, "'")));
    return Expr(this, {});
  }
  const ValueId id = GraphEdit(graph()).AddInput(std::move(name), std::move(type));
  NameUnknownDims(graph(), id);
  return Value(id);
}

void GraphBuilder::Output(std::string name, const Expr& value) {
  if (!status().ok()) return;
  if (!value.valid()) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("output '", name, "' is given an expression without a value")));
  }
  const bool renamable = value.sink() == this && graph().value(value.id()).producer.valid() &&
                         !graph().is_output(value.id());
  const Expr own = renamable ? value : Op("Identity", {value});
  if (!own.valid()) return;
  if (graph().value(own.id()).name != name) {
    if (graph().FindValue(name).valid()) {
      return Fail(
          absl::InvalidArgumentError(absl::StrCat("there is already a value '", name, "'")));
    }
    GraphEdit(graph()).Rename(own.id(), std::move(name));
  }
  GraphEdit(graph()).AddOutput(own.id());
}

void GraphBuilder::Update(const Expr& input, std::string name, const Expr& next) {
  if (!status().ok()) return;
  if (!input.valid() || !graph().is_input(input.id())) {
    return Fail(
        absl::InvalidArgumentError(absl::StrCat("'", name, "' must update an input of the graph")));
  }
  if (!next.type().CompatibleWith(input.type())) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' of type ", next.type().ToString(), " cannot update an input of ",
                     input.type().ToString())));
  }
  Output(std::move(name), next);
  if (status().ok()) model_->updates.push_back({input.id(), graph().outputs().back()});
}

absl::StatusOr<std::vector<ValueId>> GraphBuilder::AddNode(Node node,
                                                           const std::vector<bool>& wanted) {
  ONWARD_ASSIGN_OR_RETURN(std::vector<ValueId> outputs,
                          GraphSink::AddNode(std::move(node), wanted));
  const auto made =
      std::find_if(outputs.begin(), outputs.end(), [](ValueId output) { return output.valid(); });
  if (made == outputs.end()) return outputs;
  const NodeId id = graph().value(*made).producer;
  const absl::Status status = CheckShapes(graph(), id);
  if (status.ok()) return outputs;
  return absl::InvalidArgumentError(
      absl::StrCat(graph().Describe(id), " ", status.message(),
                   "; inputs: ", InputTypes(graph(), graph().node(id))));
}

absl::StatusOr<Model> GraphBuilder::Build() {
  ONWARD_RETURN_IF_ERROR(status());
  ONWARD_RETURN_IF_ERROR(Verify(graph()));
  model_->opsets[""] = kOpset;
  for (NodeId id : graph().node_ids()) {
    const std::string& domain = graph().node(id).domain;
    if (!domain.empty()) model_->opsets[domain] = domain == "ai.onnx.ml" ? kMlOpset : 1;
  }
  Fail(absl::FailedPreconditionError("the builder has already built its model"));
  return std::move(*model_);
}

}  // namespace onward
