// Elements by index.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Compress", Precision::kFollow},
    {"Gather", Precision::kFollow},
    {"GatherElements", Precision::kFollow},
    {"GatherND", Precision::kFollow},
    {"NonMaxSuppression", Precision::kFollow},
    {"NonZero", Precision::kFollow},
    {"OneHot", Precision::kFollow},
    {"Scatter", Precision::kFollow},
    {"ScatterElements", Precision::kFollow},
    {"ScatterND", Precision::kFollow},
    {"Unique", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> GatherScatterFacts() { return kFacts; }

}  // namespace onward
