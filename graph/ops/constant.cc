// Values from nothing, or from a shape alone.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Constant", .autocast = kFollow},
    {.op = "ConstantOfShape", .autocast = kFollow},
    {.op = "EyeLike", .autocast = kFull, .reads_shape_only = true},
    {.op = "Range", .autocast = kFollow},
    {.op = "Shape", .autocast = kFollow, .widening = kMoves, .reads_shape_only = true},
    {.op = "Size", .autocast = kFollow, .widening = kMoves, .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> ConstantFacts() { return kFacts; }

}  // namespace onward
