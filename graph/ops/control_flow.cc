// Bodies decide for themselves.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"If", Precision::kFollow},
    {"Loop", Precision::kFollow},
    {"Scan", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ControlFlowFacts() { return kFacts; }

}  // namespace onward
