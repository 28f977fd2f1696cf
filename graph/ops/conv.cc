// Convolutions.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "CausalConvWithState", .autocast = kLower, .rows = CausalConvRows},
    {.op = "ChannelsLastFusedConv",
     .domain = kOnwardDomain,
     .autocast = kFollow,
     .multiply_adds = ConvAdds,
     .rows = FirstAxisRows},
    {.op = "ChannelsLastPointwiseDepthwiseConv",
     .domain = kOnwardDomain,
     .autocast = kFollow,
     .multiply_adds = PointwiseDepthwiseAdds,
     .rows = FirstAxisRows},
    {.op = "Col2Im", .autocast = kFollow, .widening = kComputes, .rows = FirstAxisRows},
    {.op = "Conv",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = ConvAdds,
     .rows = FirstAxisRows},
    {.op = "ConvTranspose",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = ConvTransposeAdds,
     .rows = FirstAxisRows},
    {.op = "DeformConv",
     .autocast = kFull,
     .widening = kComputes,
     .multiply_adds = ConvAdds,
     .rows = DeformConvRows},
    {.op = "FusedConv", .domain = kOnwardDomain, .autocast = kLower, .multiply_adds = ConvAdds},
    {.op = "FusedConv", .domain = kMicrosoftDomain, .autocast = kFull, .multiply_adds = ConvAdds},
    {.op = "PointwiseDepthwiseConv",
     .domain = kOnwardDomain,
     .autocast = kLower,
     .multiply_adds = PointwiseDepthwiseAdds},
};

}  // namespace

absl::Span<const OpFacts> ConvFacts() { return kFacts; }

}  // namespace onward
