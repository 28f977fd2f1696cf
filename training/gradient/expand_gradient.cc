#include "training/gradient/expand_gradient.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/rewrite/patch.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/status.h"

namespace onward::training {

bool IsGradient(std::string_view domain, std::string_view op) {
  return domain == "ai.onnx.preview.training" && op == "Gradient";
}

namespace {

absl::StatusOr<ValueId> Named(const Graph& graph, const std::string& name) {
  const ValueId id = graph.FindValue(name);
  if (id.valid()) return id;
  return absl::InvalidArgumentError(absl::StrCat("the graph has no tensor '", name, "'"));
}

// The tensors of xs. The node's inputs must be the tensors that xs and zs name.
absl::StatusOr<std::vector<ValueId>> Variables(const Graph& graph, const Node& node) {
  const std::vector<std::string> xs = node.attributes.Strings("xs");
  std::vector<std::string> names = xs;
  for (std::string& name : node.attributes.Strings("zs")) names.push_back(std::move(name));
  if (names.size() != node.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("xs and zs name ", names.size(), " tensors for ",
                                                   node.inputs.size(), " inputs"));
  }
  if (node.outputs.size() > xs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.outputs.size(), " outputs for ", xs.size(), " tensors in xs"));
  }
  std::vector<ValueId> values;
  for (size_t i = 0; i < names.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(const ValueId value, Named(graph, names[i]));
    if (node.inputs[i] != value) {
      return absl::UnimplementedError(
          absl::StrCat("input ", i, " is not '", names[i],
                       "' itself; the gradient at other values than the graph's is not supported"));
    }
    if (i < xs.size()) values.push_back(value);
  }
  return values;
}

// The gradient of the sum of y's elements flows into y as ones.
absl::StatusOr<GradientTarget> SumOf(Graph& graph, const std::string& name) {
  ONWARD_ASSIGN_OR_RETURN(const ValueId y, Named(graph, name));
  const std::optional<Dims> dims = graph.type(y).static_dims();
  if (!IsFloating(graph.type(y).dtype) || (dims && NumElements(*dims) == 1))
    return GradientTarget{y, {}};
  GraphSink sink(graph, absl::StrCat(graph.value(y).name, "/"));
  const Expr value = sink.Value(y);
  const Expr ones = expr::Expand(ScalarLike(value, 1), Shape(value));
  ONWARD_RETURN_IF_ERROR(sink.status());
  return GradientTarget{y, ones.id()};
}

absl::Status Expand(Graph& graph, NodeId id) {
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  const std::string y = graph.node(id).attributes.String("y");
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> wrt, Variables(graph, graph.node(id)));
  ONWARD_ASSIGN_OR_RETURN(const GradientTarget target, SumOf(graph, y));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> gradients,
                          AddGradients(graph, absl::MakeConstSpan(&target, 1), wrt));
  Patch patch("gradient", graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid()) patch.Replace(outputs[i], gradients[i]);
  }
  return Apply(graph, std::move(patch));
}

}  // namespace

absl::Status ExpandGradientNodes(Graph& graph) {
  while (true) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
    const auto found = std::find_if(order.begin(), order.end(), [&](NodeId id) {
      return IsGradient(graph.node(id).domain, graph.node(id).op_type);
    });
    if (found == order.end()) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(InferGraph(graph));
    const std::string name = graph.Describe(*found);
    ONWARD_RETURN_IF_ERROR(Annotate(Expand(graph, *found), name));
  }
}

}  // namespace onward::training
