// The values that follow from dims alone, and from the numbers of a loop's turns. The host computes
// them where a device runs the rest: dims are known before a run, and what the device then makes
// takes its shape from them.
#pragma once

#include <set>

#include "onward/graph.h"

namespace onward::executors {

// A constant is given to each side by the program, not by copies in the graph.
bool IsMoved(const Graph& graph, ValueId input);

// Dims are known everywhere: such an op reads no elements.
bool ReadsDimsOnly(const Node& node);

// Returns whether a value is so small that the host may as well compute it.
bool IsSmall(const Type& type);

// Nodes are to be added in topological order.
class DimArithmetic {
 public:
  // `graph` must outlive it. `known`: inputs and captures that the host has, by index.
  explicit DimArithmetic(const Graph& graph, std::set<int32_t> known = {})
      : graph_(graph), values_(std::move(known)) {}

  bool Includes(const Node& node) const;
  bool Includes(ValueId value) const { return values_.contains(value.index); }
  void Add(const Node& node);

 private:
  const Graph& graph_;
  std::set<int32_t> values_;
};

}  // namespace onward::executors
