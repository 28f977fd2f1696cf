// Pools over windows. Sums of many elements stay full.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"AveragePool", AutocastClass::kFollow}, {"GlobalAveragePool", AutocastClass::kFollow},
    {"GlobalLpPool", AutocastClass::kFull},  {"GlobalMaxPool", AutocastClass::kFollow},
    {"LpPool", AutocastClass::kFull},        {"MaxPool", AutocastClass::kFollow},
    {"MaxRoiPool", AutocastClass::kFollow},  {"MaxUnpool", AutocastClass::kFollow},
    {"RoiAlign", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> PoolFacts() { return kFacts; }

}  // namespace onward
