// Quantization: the dtypes are given.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ConvInteger", Precision::kFollow},           {"DequantizeLinear", Precision::kFollow},
    {"DynamicQuantizeLinear", Precision::kFollow}, {"MatMulInteger", Precision::kFollow},
    {"QLinearConv", Precision::kFollow},           {"QLinearMatMul", Precision::kFollow},
    {"QuantizeLinear", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> QuantizeFacts() { return kFacts; }

}  // namespace onward
