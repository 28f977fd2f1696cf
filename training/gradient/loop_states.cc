#include "training/gradient/loop_states.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"

namespace onward::gradient {
namespace {

constexpr size_t kFirstState = 2;  // after the iteration and the condition

// Unknown sizes become symbols, so that inference can follow them around.
Type WithNamedDims(Type type, const std::string& name) {
  if (!type.shape) return type;
  for (size_t i = 0; i < type.shape->size(); ++i) {
    if ((*type.shape)[i].unknown()) (*type.shape)[i] = SymbolDim(absl::StrCat(name, ".", i));
  }
  return type;
}

bool SameShape(const Type& a, const Type& b) {
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    if (!(*a.shape)[i].SameAs((*b.shape)[i])) return false;
  }
  return true;
}

// Forgets the shapes of earlier inference; dtypes stay, for ops that no inference knows.
void ForgetShapes(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    for (const ValueId output : graph.node(id).outputs) {
      if (output.valid() && graph.type(output).is_tensor())
        GraphEdit(graph).type(output).shape.reset();
    }
  }
}

}  // namespace

TypedBody FindStateTypes(const Graph& body, absl::Span<const Type> initial,
                         const std::string& scope) {
  std::vector<Type> assumed;
  for (size_t k = 0; k < initial.size(); ++k)
    assumed.push_back(WithNamedDims(initial[k], absl::StrCat(scope, "/state", k)));
  for (size_t round = 0; round <= initial.size(); ++round) {
    TypedBody typed{body, std::vector<bool>(initial.size(), false)};
    ForgetShapes(typed.graph);
    for (size_t k = 0; k < initial.size(); ++k) {
      Type& type = GraphEdit(typed.graph).type(typed.graph.inputs()[kFirstState + k]);
      if (assumed[k].kind != Type::Kind::kUnknown) type = assumed[k];
    }
    if (!InferGraph(typed.graph).ok()) break;
    bool holds = true;
    for (size_t k = 0; k < initial.size(); ++k) {
      if (!assumed[k].shape) continue;
      typed.invariant[k] = SameShape(typed.graph.type(typed.graph.outputs()[1 + k]), assumed[k]);
      if (typed.invariant[k]) continue;
      assumed[k].shape.reset();
      holds = false;
    }
    if (holds) return typed;
  }
  return {body, std::vector<bool>(initial.size(), false)};
}

}  // namespace onward::gradient
