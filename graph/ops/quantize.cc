// Quantization: the dtypes are given.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ConvInteger", AutocastClass::kFollow},           {"DequantizeLinear", AutocastClass::kFollow},
    {"DynamicQuantizeLinear", AutocastClass::kFollow}, {"MatMulInteger", AutocastClass::kFollow},
    {"QLinearConv", AutocastClass::kFollow},           {"QLinearMatMul", AutocastClass::kFollow},
    {"QuantizeLinear", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> QuantizeFacts() { return kFacts; }

}  // namespace onward
