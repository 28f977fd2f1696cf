// Movement of elements.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "ChannelsLastScale", .domain = kOnwardDomain, .autocast = kFollow},
    {.op = "Concat", .autocast = kFollow, .widening = kMoves, .rows = ConcatRows},
    {.op = "DepthToSpace", .autocast = kFollow, .widening = kMoves, .rows = FirstAxisRows},
    {.op = "Expand", .autocast = kFollow, .widening = kMoves, .rows = ExpandRows},
    {.op = "Flatten", .autocast = kFollow, .widening = kMoves, .view = true, .rows = ReshapeRows},
    {.op = "Identity",
     .autocast = kFollow,
     .widening = kMoves,
     .view = true,
     .rows = ElementwiseRows},
    {.op = "Pad", .autocast = kFollow, .widening = kMoves, .rows = PadRows},
    {.op = "Reshape", .autocast = kFollow, .widening = kMoves, .view = true, .rows = ReshapeRows},
    {.op = "ReverseSequence", .autocast = kFollow, .rows = ReverseSequenceRows},
    {.op = "Slice", .autocast = kFollow, .widening = kMoves, .rows = SliceRows},
    {.op = "SpaceToDepth", .autocast = kFollow, .widening = kMoves, .rows = FirstAxisRows},
    {.op = "Split", .autocast = kFollow, .widening = kMoves, .rows = SplitRows},
    {.op = "Squeeze", .autocast = kFollow, .widening = kMoves, .view = true, .rows = ReshapeRows},
    {.op = "Tile", .autocast = kFollow, .widening = kMoves, .rows = TileRows},
    {.op = "ToChannelsFirst", .domain = kOnwardDomain, .autocast = kFollow, .rows = FirstAxisRows},
    {.op = "ToChannelsLast", .domain = kOnwardDomain, .autocast = kFollow, .rows = FirstAxisRows},
    {.op = "Transpose", .autocast = kFollow, .widening = kMoves, .rows = TransposeRows},
    {.op = "Trilu", .autocast = kFollow, .widening = kMoves, .rows = MatrixRows},
    {.op = "Unsqueeze", .autocast = kFollow, .widening = kMoves, .view = true, .rows = ReshapeRows},
    {.op = "Pad", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kMoves},
    {.op = "Trilu", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kMoves},
};

}  // namespace

absl::Span<const OpFacts> LayoutFacts() { return kFacts; }

}  // namespace onward
