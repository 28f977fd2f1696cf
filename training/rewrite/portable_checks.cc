#include "training/rewrite/portable_checks.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder/patch_sink.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/patch.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// `expected`, or an index out of bounds where the dims `got` are others; a runtime's error names
// the node, and so says `what`. Ranks that differ are for the Reshape to `expected` to find.
Expr Checked(Patch& patch, PatchSink& sink, const Expr& got, const Expr& expected,
             const std::string& what) {
  const Expr equal = ReduceMin(Cast(Op("Equal", {got, expected}), DType::kInt64), {}, false);
  const Expr checked = Gather(Unsqueeze(expected, {0}), sink.Scalar(1, DType::kInt64) - equal, 0);
  if (checked.valid()) patch.NameNode(checked.id(), what);
  return checked;
}

// "loss mse: the target 'label' does not have the shape that it must have".
std::string WhatIsWrong(const std::string& message) {
  const size_t end = message.find(" has the shape {got}");
  return absl::StrCat(message.substr(0, end), " does not have the shape that it must have");
}

absl::Status CheckRequired(Graph& graph, NodeId id) {
  const Node& old = graph.node(id);
  Patch patch(absl::StrCat("check_shape @ ", old.name), graph);
  PatchSink sink(patch);
  const std::string what = WhatIsWrong(old.attributes.String("message", ""));
  const bool broadcasts = old.attributes.Int("broadcasts", 0) != 0;
  const Expr x = sink.Value(old.inputs[0]), expected = sink.Value(old.inputs[1]);
  // Only shapes that do not broadcast to `expected` have more elements.
  const Expr fitted = broadcasts ? Reshape(Expand(x, expected), expected, true)
                                 : Reshape(x, Checked(patch, sink, Shape(x), expected, what), true);
  ONWARD_RETURN_IF_ERROR(sink.status());
  if (broadcasts) patch.NameNode(fitted.id(), what);
  patch.Replace(old.outputs[0], fitted.id());
  return Apply(graph, std::move(patch));
}

// The first axis of `inputs` whose dim is `dim`, as a value; none before axis `end` of the last.
Expr SizeOf(const Graph& graph, PatchSink& sink, const std::vector<ValueId>& inputs, const Dim& dim,
            size_t end, std::string* where) {
  for (const ValueId input : inputs) {
    const SymbolicDims& shape = *graph.type(input).shape;
    const size_t axes = input == inputs.back() ? end : shape.size();
    for (size_t j = 0; dim.symbolic() && j < axes; ++j) {
      if (!shape[j].SameAs(dim)) continue;
      *where = graph.value(input).name;
      const auto axis = static_cast<int64_t>(j);
      return Shape(sink.Value(input), axis, axis + 1);
    }
  }
  return {};
}

absl::Status CheckInput(Graph& graph, const std::vector<ValueId>& inputs) {
  const ValueId input = inputs.back();
  Patch patch(absl::StrCat("check_dims @ ", graph.value(input).name), graph);
  PatchSink sink(patch);
  const Expr x = sink.Value(input);
  const Type& type = graph.type(input);
  std::vector<Expr> expected;
  std::string what;
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    std::string where;
    const Expr size = SizeOf(graph, sink, inputs, (*type.shape)[i], i, &where);
    if (size.valid()) {
      absl::StrAppend(&what, what.empty() ? "" : ", ", "axis ", i, " of the input '",
                      graph.value(input).name, "' is another '", (*type.shape)[i].ToString(),
                      "' than that of '", where, "'");
    }
    expected.push_back(size.valid() ? size : Shape(x, axis, axis + 1));
  }
  if (what.empty()) return absl::OkStatus();
  const Expr dims = expr::Concat(expected, 0);
  const Expr fitted = Reshape(x, Checked(patch, sink, Shape(x), dims, what), true);
  ONWARD_RETURN_IF_ERROR(sink.status());
  patch.Replace(input, fitted.id());
  return Apply(graph, std::move(patch));
}

}  // namespace

absl::Status CheckRequiredShapes(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      ONWARD_RETURN_IF_ERROR(CheckRequiredShapes(*subgraph.graph));
    const Node& node = graph.node(id);
    if (node.Is("RequireShape", kOnwardDomain)) ONWARD_RETURN_IF_ERROR(CheckRequired(graph, id));
  }
  return absl::OkStatus();
}

absl::Status CheckNamedDims(Graph& graph) {
  std::vector<ValueId> inputs;
  const std::vector<ValueId> all = graph.inputs();
  for (const ValueId id : all) {
    const Type& type = graph.type(id);
    if (graph.is_constant(id) || !type.is_tensor() || !type.shape) continue;
    inputs.push_back(id);
    ONWARD_RETURN_IF_ERROR(CheckInput(graph, inputs));
  }
  return absl::OkStatus();
}

}  // namespace onward::training
