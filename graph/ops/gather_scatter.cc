// Elements by index.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Compress", AutocastClass::kFollow},
    {"Gather", AutocastClass::kFollow},
    {"GatherElements", AutocastClass::kFollow},
    {"GatherND", AutocastClass::kFollow},
    {"NonMaxSuppression", AutocastClass::kFollow},
    {"NonZero", AutocastClass::kFollow},
    {"OneHot", AutocastClass::kFollow},
    {"Scatter", AutocastClass::kFollow},
    {"ScatterElements", AutocastClass::kFollow},
    {"ScatterND", AutocastClass::kFollow},
    {"Unique", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> GatherScatterFacts() { return kFacts; }

}  // namespace onward
