#include "executors/plan/dim_arithmetic.h"

#include <algorithm>
#include <optional>

namespace onward::executors {

bool IsMoved(const Graph& graph, ValueId input) {
  return input.valid() && (!graph.is_constant(input) || graph.is_input(input));
}

bool ReadsDimsOnly(const Node& node) { return node.Is("Shape") || node.Is("Size"); }

bool IsSmall(const Type& type) {
  constexpr int64_t kMost = 64;  // elements
  const std::optional<Dims> dims = type.static_dims();
  if (dims) return NumElements(*dims) <= kMost;
  return type.is_tensor() && !IsFloating(type.dtype) && type.shape && type.shape->size() <= 1;
}

bool DimArithmetic::Includes(const Node& node) const {
  if (!node.subgraphs.empty()) return false;
  bool follows = ReadsDimsOnly(node);
  if (!follows) {
    for (const ValueId input : node.inputs) {
      if (!IsMoved(graph_, input)) continue;
      if (!Includes(input)) return false;
      follows = true;
    }
  }
  return follows && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
           return !output.valid() || IsSmall(graph_.type(output));
         });
}

void DimArithmetic::Add(const Node& node) {
  for (const ValueId output : node.outputs) {
    if (output.valid()) values_.insert(output.index);
  }
}

}  // namespace onward::executors
