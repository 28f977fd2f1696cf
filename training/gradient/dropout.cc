// Dropout: the gradient passes where the forward pass kept the element.
#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The node's mask; a node without that output is replaced by one that has it.
absl::StatusOr<Expr> MaskOf(const GradientScope& s) {
  if (s.node().outputs.size() > 1 && s.output(1).valid()) return s.output(1);
  Graph& graph = s.sink().graph();
  Node node = s.node().WithoutSubgraphs();
  node.outputs.resize(1);
  node.provider.clear();
  const std::string name =
      graph.UniqueName(absl::StrCat(graph.value(node.outputs[0]).name, "/mask"));
  node.outputs.push_back(GraphEdit(graph).AddValue(name, Type::Tensor(DType::kBool)));
  const ValueId mask = node.outputs[1];
  GraphEdit(graph).RemoveNode(s.id());
  ONWARD_RETURN_IF_ERROR(InferNode(graph, GraphEdit(graph).AddNode(std::move(node))));
  return s.sink().Value(mask);
}

Gradients DropoutRule(const GradientScope& s) {
  std::vector<Expr> gradients = NoGradients(s);
  const Expr dy = s.upstream(0), ratio = s.input(1), training = s.input(2);
  gradients[0] = dy;
  if (!training.valid()) return gradients;
  ONWARD_ASSIGN_OR_RETURN(const Expr mask, MaskOf(s));
  Expr kept = ScalarLike(dy, 0.5);
  if (ratio.valid()) kept = 1.0 - (ratio.dtype() == dy.dtype() ? ratio : Cast(ratio, dy.dtype()));
  // Everything is dropped at a ratio of 1.
  const Expr none = Equal(kept, ScalarLike(kept, 0)), one = ScalarLike(kept, 1);
  const Expr scale = Reciprocal(Where(none, one, kept));
  gradients[0] = Masked(mask, dy * Where(training, scale, one));
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Dropout", DropoutRule}};

}  // namespace

GradientList DropoutGradients() { return kRules; }

}  // namespace onward::gradient
