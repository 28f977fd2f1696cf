// Quantization: the dtypes are given.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "ConvInteger", .autocast = kFollow, .multiply_adds = ConvAdds},
    {.op = "DequantizeLinear", .autocast = kFollow},
    {.op = "DynamicQuantizeLinear", .autocast = kFollow},
    {.op = "MatMulInteger", .autocast = kFollow, .multiply_adds = MatMulAdds},
    {.op = "QLinearConv", .autocast = kFollow, .multiply_adds = QLinearConvAdds},
    {.op = "QLinearMatMul", .autocast = kFollow, .multiply_adds = MatMulAdds},
    {.op = "QuantizeLinear", .autocast = kFollow},
};

}  // namespace

absl::Span<const OpFacts> QuantizeFacts() { return kFacts; }

}  // namespace onward
