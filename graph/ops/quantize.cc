// Quantization: the dtypes are given.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "ChannelsLastConv",
     .domain = kOnwardDomain,
     .autocast = kFollow,
     .multiply_adds = QLinearConvAdds,
     .rows = FirstAxisRows},
    {.op = "ConvInteger", .autocast = kFollow, .multiply_adds = ConvAdds, .rows = FirstAxisRows},
    {.op = "DequantizeLinear", .autocast = kFollow, .rows = QuantizeRows},
    {.op = "DynamicQuantizeLinear", .autocast = kFollow},
    {.op = "MapBytes", .domain = kOnwardDomain, .autocast = kFollow, .rows = FirstAxisRows},
    {.op = "MatMulInteger", .autocast = kFollow, .multiply_adds = MatMulAdds, .rows = MatMulRows},
    {.op = "QLinearConv",
     .autocast = kFollow,
     .multiply_adds = QLinearConvAdds,
     .rows = FirstAxisRows},
    {.op = "QLinearMatMul",
     .autocast = kFollow,
     .multiply_adds = MatMulAdds,
     .rows = QuantizedMatMulRows},
    {.op = "QuantizeLinear", .autocast = kFollow, .rows = QuantizeRows},
};

}  // namespace

absl::Span<const OpFacts> QuantizeFacts() { return kFacts; }

}  // namespace onward
