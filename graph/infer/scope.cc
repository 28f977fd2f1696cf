#include "graph/infer/scope.h"

namespace onward {

std::optional<std::vector<int64_t>> InferScope::Numbers(size_t input) const {
  const std::optional<SymbolicDims> elements = Elements(input);
  if (!elements) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim& element : *elements) {
    const std::optional<int64_t> number = DimNumber(element);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace onward
