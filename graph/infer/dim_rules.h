// Rules of FillTypes, by op of ai.onnx.
#pragma once

#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "graph/infer/scope.h"

namespace onward {

struct DimRule {
  std::string_view op;
  // The dims of one output, unknown where nothing can be said. Asked only when the input that gives
  // the rank has one and ONNX's function left something open.
  std::optional<SymbolicDims> (*dims)(const InferScope& scope, size_t output);
};

absl::Span<const DimRule> AttentionDimRules();
absl::Span<const DimRule> LayoutDimRules();
absl::Span<const DimRule> ReduceDimRules();
absl::Span<const DimRule> WindowDimRules();

// Numpy-style broadcasting of expressions.
SymbolicDims BroadcastSymbolic(const SymbolicDims& a, const SymbolicDims& b);

}  // namespace onward
