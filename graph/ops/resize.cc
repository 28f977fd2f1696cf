// Sampling of images.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "AffineGrid", .autocast = kFull, .rows = FirstAxisRows},
    {.op = "CenterCropPad", .autocast = kFollow},
    {.op = "GridSample", .autocast = kFull, .rows = FirstAxesRows},
    {.op = "ImageDecoder", .autocast = kFull},
    {.op = "Resize", .autocast = kFull, .widening = kMoves, .rows = FirstAxisRows},
    {.op = "Upsample", .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> ResizeFacts() { return kFacts; }

}  // namespace onward
