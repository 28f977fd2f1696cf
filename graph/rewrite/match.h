// Predicates on graphs, for rules.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "onward/graph.h"

namespace onward {

// The constant that the value certainly is: null for an input with a default, which a caller may
// override, and for one whose data is missing.
const Tensor* FixedConstant(const Graph& graph, ValueId id);

// The ai.onnx node of op `op` that makes `value`, else null. The value must be its first output.
const Node* MadeBy(const Graph& graph, ValueId value, std::string_view op);
// The node that makes `value`; invalid for inputs, constants and captures.
inline NodeId Maker(const Graph& graph, ValueId value) {
  return value.valid() ? graph.value(value).producer : NodeId();
}

// Returns whether exactly one node reads the value and it is not an output of the graph.
bool ReadOnce(const Graph& graph, ValueId value);
// The one node that reads the value; invalid unless ReadOnce.
NodeId OnlyReader(const Graph& graph, ValueId value);

// Input i, invalid when omitted.
inline ValueId InputOf(const Node& node, int i) {
  return i < static_cast<int>(node.inputs.size()) ? node.inputs[static_cast<size_t>(i)] : ValueId();
}
// Number of inputs, trailing omitted ones not counted.
int NumInputs(const Node& node);

// The number in a constant of one element (integers, bools and floats); nullopt otherwise.
std::optional<double> ScalarValue(const Graph& graph, ValueId id);
// The elements of a constant integer tensor; nullopt otherwise.
std::optional<std::vector<int64_t>> IntElements(const Graph& graph, ValueId id);

// A commutative node's constant of one element and its other operand, when the result has the other
// operand's shape.
struct WithScalar {
  ValueId other;
  double scalar = 0;
};
std::optional<WithScalar> SplitScalar(const Graph& graph, const Node& node);

// Returns whether numbers computed in the dtype can be equal.
bool IsNear(double value, double expected, DType dtype);
// True if the value is a constant of one element that is `expected` as far as its dtype can say.
bool IsScalar(const Graph& graph, ValueId id, double expected);
// The other operand of the commutative node that makes `value` when its constant operand IsScalar
// of `expected` and it changes no shape; invalid otherwise.
ValueId BesideScalar(const Graph& graph, ValueId value, std::string_view op, double expected);

// The operand of a binary node beside `operand`; invalid when the node does not read it exactly
// once.
ValueId OtherInput(const Node& node, ValueId operand);

// Known rank, or -1.
int RankOf(const Graph& graph, ValueId id);
// The permutation of a Transpose: reversed dims where the node names none; empty where the rank is
// not known either.
std::vector<int64_t> PermOf(const Graph& graph, const Node& transpose);
// Returns whether both are tensors certainly of the same shape at run time.
bool SameShape(const Type& a, const Type& b);

// Float16 or bfloat16.
inline bool IsNarrow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }
// The value that a Cast makes `value` of; invalid where no Cast makes it.
ValueId BeforeCast(const Graph& graph, ValueId value);

// Returns whether two runs of the node on equal inputs may differ (random numbers).
bool IsRandom(const Node& node);

}  // namespace onward
