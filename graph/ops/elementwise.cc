// Element by element. Exponentials, logarithms and powers leave the range of 16-bit floats.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Abs", .autocast = kFollow, .widening = kComputes},
    {.op = "Acos", .autocast = kFull},
    {.op = "Acosh", .autocast = kFollow},
    {.op = "Add", .autocast = kFollow, .widening = kComputes},
    {.op = "And", .autocast = kFollow},
    {.op = "Asin", .autocast = kFull},
    {.op = "Asinh", .autocast = kFollow},
    {.op = "Atan", .autocast = kFollow},
    {.op = "Atanh", .autocast = kFollow},
    {.op = "BitShift", .autocast = kFollow},
    {.op = "BitwiseAnd", .autocast = kFollow},
    {.op = "BitwiseNot", .autocast = kFollow},
    {.op = "BitwiseOr", .autocast = kFollow},
    {.op = "BitwiseXor", .autocast = kFollow},
    {.op = "Ceil", .autocast = kFollow},
    {.op = "Celu", .autocast = kFollow, .widening = kComputes},
    {.op = "Clip", .autocast = kFollow, .widening = kComputes},
    {.op = "Cos", .autocast = kFollow, .widening = kComputes},
    {.op = "Cosh", .autocast = kFull},
    {.op = "Div", .autocast = kFollow, .widening = kComputes},
    {.op = "Elu", .autocast = kFollow, .widening = kComputes},
    {.op = "Equal", .autocast = kFollow, .widening = kMoves},
    {.op = "Erf", .autocast = kFollow, .widening = kComputes},
    {.op = "Exp", .autocast = kFull, .widening = kComputes},
    {.op = "Floor", .autocast = kFollow},
    {.op = "Gelu", .autocast = kFollow, .widening = kComputes},
    {.op = "Greater", .autocast = kFollow, .widening = kMoves},
    {.op = "GreaterOrEqual", .autocast = kFollow, .widening = kMoves},
    {.op = "HardSigmoid", .autocast = kFollow, .widening = kComputes},
    {.op = "HardSwish", .autocast = kFollow, .widening = kComputes},
    {.op = "IsInf", .autocast = kFollow, .widening = kMoves},
    {.op = "IsNaN", .autocast = kFollow, .widening = kMoves},
    {.op = "LeakyRelu", .autocast = kFollow, .widening = kComputes},
    {.op = "Less", .autocast = kFollow, .widening = kMoves},
    {.op = "LessOrEqual", .autocast = kFollow, .widening = kMoves},
    {.op = "Log", .autocast = kFull, .widening = kComputes},
    {.op = "Max", .autocast = kFollow, .widening = kMoves},
    {.op = "Mean", .autocast = kFollow},
    {.op = "Min", .autocast = kFollow, .widening = kMoves},
    {.op = "Mish", .autocast = kFollow, .widening = kComputes},
    {.op = "Mod", .autocast = kFollow},
    {.op = "Mul", .autocast = kFollow, .widening = kComputes},
    {.op = "Neg", .autocast = kFollow, .widening = kComputes},
    {.op = "Not", .autocast = kFollow},
    {.op = "Or", .autocast = kFollow},
    {.op = "PRelu", .autocast = kLower, .widening = kComputes},
    {.op = "Pow", .autocast = kFull, .widening = kComputes},
    {.op = "Reciprocal", .autocast = kFull, .widening = kComputes},
    {.op = "Relu", .autocast = kFollow, .widening = kComputes},
    {.op = "Round", .autocast = kFollow},
    {.op = "Selu", .autocast = kFollow, .widening = kComputes},
    {.op = "Shrink", .autocast = kFollow, .widening = kComputes},
    {.op = "Sigmoid", .autocast = kFollow, .widening = kComputes},
    {.op = "Sign", .autocast = kFollow, .widening = kComputes},
    {.op = "Sin", .autocast = kFollow, .widening = kComputes},
    {.op = "Sinh", .autocast = kFull},
    {.op = "Softplus", .autocast = kFull, .widening = kComputes},
    {.op = "Softsign", .autocast = kFollow, .widening = kComputes},
    {.op = "Sqrt", .autocast = kFollow, .widening = kComputes},
    {.op = "Sub", .autocast = kFollow, .widening = kComputes},
    {.op = "Sum", .autocast = kFollow, .widening = kComputes},
    {.op = "SwiGLU", .autocast = kFollow, .widening = kComputes},
    {.op = "Swish", .autocast = kFollow, .widening = kComputes},
    {.op = "Tan", .autocast = kFull, .widening = kComputes},
    {.op = "Tanh", .autocast = kFollow, .widening = kComputes},
    {.op = "ThresholdedRelu", .autocast = kFollow, .widening = kComputes},
    {.op = "Where", .autocast = kFollow, .widening = kMoves},
    {.op = "Xor", .autocast = kFollow},
    {.op = "Gelu", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
};

}  // namespace

absl::Span<const OpFacts> ElementwiseFacts() { return kFacts; }

}  // namespace onward
