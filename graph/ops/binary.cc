// Elementwise ops of two and more operands. Powers leave the range of 16-bit floats.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Add", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "And", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitShift", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseAnd", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseOr", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "BitwiseXor", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Div", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Equal", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Greater", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "GreaterOrEqual", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Less", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "LessOrEqual", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Max", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Mean", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Min", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Mod", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Mul", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Or", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "PRelu", .autocast = kLower, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Pow", .autocast = kFull, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sub", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Sum", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "SwiGLU", .autocast = kFollow, .widening = kComputes, .rows = ElementwiseRows},
    {.op = "Where", .autocast = kFollow, .widening = kMoves, .rows = ElementwiseRows},
    {.op = "Xor", .autocast = kFollow, .rows = ElementwiseRows},
};

}  // namespace

absl::Span<const OpFacts> BinaryFacts() { return kFacts; }

}  // namespace onward
