// Elementwise ops of one operand. Exponentials and logarithms leave the range of 16-bit floats.
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
    {.op = "Asin", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Asinh", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Atan", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Atanh", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseNot", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Ceil", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Celu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Clip", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Cos", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Cosh", .autocast = kFull, .rows = ElementwiseRows},
    {.op = "Elu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Erf", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Exp", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Floor", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Gelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "HardSigmoid", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "HardSwish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "IsInf", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "IsNaN", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "LeakyRelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Log", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Mish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Neg", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Not", .autocast = kFollow, .rows = ElementwiseRows},
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
    {.op = "Swish", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Tan", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Tanh", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "ThresholdedRelu", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Gelu", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
};

}  // namespace

absl::Span<const OpFacts> UnaryFacts() { return kFacts; }

}  // namespace onward
