// Reductions whose axes are computed in the graph: the rank is known although the dims are not.
#include "graph/infer/dim_rules.h"

namespace onward {
namespace {

std::optional<SymbolicDims> Reduced(const InferScope& scope, size_t output) {
  if (output != 0 || scope.Shape(0) == nullptr || !scope.HasInput(1)) return std::nullopt;
  const size_t rank = scope.Shape(0)->size();
  const Attributes& attributes = scope.node.attributes;
  if (attributes.Int("keepdims", 1) != 0) return SymbolicDims(rank);
  const SymbolicDims* axes = scope.Shape(1);
  if (axes == nullptr || axes->size() != 1 || !(*axes)[0].known()) return std::nullopt;
  const auto count = static_cast<size_t>((*axes)[0].value());
  if (count > rank) return std::nullopt;
  if (count > 0) return SymbolicDims(rank - count);
  if (attributes.Int("noop_with_empty_axes", 0) != 0) return *scope.Shape(0);
  return SymbolicDims();
}

constexpr DimRule kRules[] = {
    {"ReduceL1", Reduced},        {"ReduceL2", Reduced},   {"ReduceLogSum", Reduced},
    {"ReduceLogSumExp", Reduced}, {"ReduceMax", Reduced},  {"ReduceMean", Reduced},
    {"ReduceMin", Reduced},       {"ReduceProd", Reduced}, {"ReduceSum", Reduced},
    {"ReduceSumSquare", Reduced},
};

}  // namespace

absl::Span<const DimRule> ReduceDimRules() { return kRules; }

}  // namespace onward
