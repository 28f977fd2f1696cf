// Elements by index.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Compress", .autocast = kFollow},
    {.op = "Gather", .autocast = kFollow, .widening = kMoves, .rows = GatherRows},
    {.op = "GatherElements", .autocast = kFollow, .widening = kMoves, .rows = GatherElementsRows},
    {.op = "GatherND", .autocast = kFollow, .widening = kMoves, .rows = GatherNDRows},
    {.op = "NonMaxSuppression", .autocast = kFollow},
    {.op = "NonZero", .autocast = kFollow},
    {.op = "OneHot", .autocast = kFollow, .rows = OneHotRows},
    {.op = "Scatter", .autocast = kFollow},
    {.op = "ScatterElements", .autocast = kFollow, .widening = kMoves},
    {.op = "ScatterND", .autocast = kFollow, .widening = kMoves},
    {.op = "Unique", .autocast = kFollow},
    {.op = "GatherND", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kMoves},
};

}  // namespace

absl::Span<const OpFacts> GatherScatterFacts() { return kFacts; }

}  // namespace onward
