// Pools over windows. Sums of many elements stay full.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "AveragePool", .autocast = kFollow, .widening = kComputes, .rows = FirstAxisRows},
    {.op = "ChannelsLastGlobalAveragePool",
     .domain = kOnwardDomain,
     .autocast = kFollow,
     .rows = FirstAxisRows},
    {.op = "ChannelsLastMaxPool",
     .domain = kOnwardDomain,
     .autocast = kFollow,
     .rows = FirstAxisRows},
    {.op = "GlobalAveragePool", .autocast = kFollow, .widening = kComputes, .rows = FirstAxisRows},
    {.op = "GlobalLpPool", .autocast = kFull, .rows = FirstAxisRows},
    {.op = "GlobalMaxPool", .autocast = kFollow, .widening = kMoves, .rows = FirstAxisRows},
    {.op = "LpPool", .autocast = kFull, .rows = FirstAxisRows},
    {.op = "MaxPool", .autocast = kFollow, .widening = kMoves, .rows = MaxPoolRows},
    {.op = "MaxRoiPool", .autocast = kFollow},
    {.op = "MaxUnpool", .autocast = kFollow, .widening = kMoves},
    {.op = "RoiAlign", .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> PoolFacts() { return kFacts; }

}  // namespace onward
