// Arithmetic and memory traffic of a graph, estimated from its types.
#pragma once

#include <map>
#include <set>
#include <string>

#include "onward/graph.h"
#include "onward/value.h"

namespace onward {

// Sizes of symbols: "batch" -> 8.
using SymbolSizes = std::map<std::string, int64_t, std::less<>>;

struct GraphCost {
  double flops = 0;  // matrix products, convolutions and recurrences, 2 per multiply-add
  double bytes = 0;  // constants plus inputs and outputs of the graph, each once
  // `flops` over the symbols without a size, such as "203264*batch"; "" where it is a number, too
  // long to be of use, or not known.
  std::string flops_formula;
  std::set<std::string> assumed;  // symbols without a size: they count as 1
};

GraphCost CostOf(const Graph& graph, const SymbolSizes& sizes);
// With the sizes of symbols that `inputs` show.
GraphCost CostOf(const Graph& graph, const std::map<std::string, Value>& inputs);

// The floating-point operations of a node, those of its bodies included.
double FlopsOf(const Graph& graph, NodeId id, const SymbolSizes& sizes);

// The sizes of symbols that dims of this input type show, where it has that rank; those that
// `sizes` has already stay.
void AddSymbolSizes(const Type& type, DimsView dims, SymbolSizes& sizes);

// Elements of a value of the type. Symbols without a size and unknown dims count as 1.
double CountElements(const Type& type, const SymbolSizes& sizes);

// Elements of all constants, subgraphs included.
int64_t ConstantElements(const Graph& graph);

// Bytes of all constants, subgraphs included.
int64_t ConstantBytes(const Graph& graph);

}  // namespace onward
