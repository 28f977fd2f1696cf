// Rules of PropagateElements, by op of ai.onnx.
#pragma once

#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "graph/infer/scope.h"

namespace onward {

struct ElementRule {
  std::string_view op;
  // The elements of one output; nullopt when nothing can be said. May return a wrong number of
  // elements where the output's shape is not what it expects: such a result is dropped.
  std::optional<SymbolicDims> (*propagate)(const InferScope& scope, size_t output);
};

absl::Span<const ElementRule> ArithmeticElementRules();
absl::Span<const ElementRule> LayoutElementRules();
absl::Span<const ElementRule> SequenceElementRules();

// elements[i] of the result is `elements` at the broadcast of index i of `to`.
SymbolicDims BroadcastElements(const SymbolicDims& elements, DimsView dims, DimsView to);

}  // namespace onward
