// A node as the rules about elements and dims see it.
#pragma once

#include <optional>
#include <vector>

#include "graph/infer/elements.h"
#include "onward/graph.h"

namespace onward {

struct InferScope {
  const Graph& graph;
  const Node& node;
  const KnownElements& known;

  bool HasInput(size_t input) const {
    return input < node.inputs.size() && node.inputs[input].valid();
  }
  // The elements of an input; nullopt when it is absent or nothing is known of it.
  std::optional<SymbolicDims> Elements(size_t input) const {
    if (!HasInput(input)) return std::nullopt;
    return ElementsOf(graph, node.inputs[input], known);
  }
  // The elements of an input when all are numbers.
  std::optional<std::vector<int64_t>> Numbers(size_t input) const;
  // The dims of an input; null when it is absent or its rank is unknown.
  const SymbolicDims* Shape(size_t input) const {
    if (!HasInput(input)) return nullptr;
    const Type& type = graph.type(node.inputs[input]);
    return type.is_tensor() && type.shape ? &*type.shape : nullptr;
  }
  std::optional<Dims> StaticDims(size_t input) const {
    return HasInput(input) ? graph.type(node.inputs[input]).static_dims() : std::nullopt;
  }
};

}  // namespace onward
