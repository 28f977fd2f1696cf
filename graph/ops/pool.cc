// Pools over windows. Sums of many elements stay full.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"AveragePool", Precision::kFollow}, {"GlobalAveragePool", Precision::kFollow},
    {"GlobalLpPool", Precision::kFull},  {"GlobalMaxPool", Precision::kFollow},
    {"LpPool", Precision::kFull},        {"MaxPool", Precision::kFollow},
    {"MaxRoiPool", Precision::kFollow},  {"MaxUnpool", Precision::kFollow},
    {"RoiAlign", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> PoolFacts() { return kFacts; }

}  // namespace onward
