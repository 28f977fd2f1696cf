// Movement of elements.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Concat", .autocast = kFollow, .widening = kMoves},
    {.op = "DepthToSpace", .autocast = kFollow, .widening = kMoves},
    {.op = "Expand", .autocast = kFollow, .widening = kMoves},
    {.op = "Flatten", .autocast = kFollow, .widening = kMoves, .view = true},
    {.op = "Identity", .autocast = kFollow, .widening = kMoves, .view = true},
    {.op = "Pad", .autocast = kFollow, .widening = kMoves},
    {.op = "Reshape", .autocast = kFollow, .widening = kMoves, .view = true},
    {.op = "ReverseSequence", .autocast = kFollow},
    {.op = "Slice", .autocast = kFollow, .widening = kMoves},
    {.op = "SpaceToDepth", .autocast = kFollow, .widening = kMoves},
    {.op = "Split", .autocast = kFollow, .widening = kMoves},
    {.op = "Squeeze", .autocast = kFollow, .widening = kMoves, .view = true},
    {.op = "Tile", .autocast = kFollow, .widening = kMoves},
    {.op = "Transpose", .autocast = kFollow, .widening = kMoves},
    {.op = "Trilu", .autocast = kFollow, .widening = kMoves},
    {.op = "Unsqueeze", .autocast = kFollow, .widening = kMoves, .view = true},
    {.op = "Pad", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kMoves},
    {.op = "Trilu", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kMoves},
};

}  // namespace

absl::Span<const OpFacts> LayoutFacts() { return kFacts; }

}  // namespace onward
