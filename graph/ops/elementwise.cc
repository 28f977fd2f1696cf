// Element by element. Exponentials, logarithms and powers leave the range of 16-bit floats.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Abs", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Acos", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Acosh", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Add", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "And", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Asin", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Asinh", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Atan", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Atanh", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitShift", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseAnd", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseNot", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseOr", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseXor", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Ceil", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Celu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Clip", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Cos", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Cosh", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Div", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Elu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Equal", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Erf", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Exp", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Floor", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Gelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Greater", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "GreaterOrEqual", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "HardSigmoid", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "HardSwish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "IsInf", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "IsNaN", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "LeakyRelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Less", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "LessOrEqual", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Log", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Max", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Mean", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Min", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Mish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Mod", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Mul", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Neg", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Not", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Or", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "PRelu", .autocast = kLower, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Pow", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Reciprocal", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Relu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Round", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Selu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Shrink", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sigmoid", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sign", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sin", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sinh", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Softplus", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Softsign", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sqrt", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sub", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sum", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "SwiGLU", .autocast = kFollow, .widening = kComputes},
    {.op = "Swish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Tan", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Tanh", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "ThresholdedRelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Where", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Xor", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Gelu", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
};

}  // namespace

absl::Span<const OpFacts> ElementwiseFacts() { return kFacts; }

}  // namespace onward
