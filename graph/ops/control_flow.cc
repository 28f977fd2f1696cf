// Bodies decide for themselves.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"If", AutocastClass::kFollow},
    {"Loop", AutocastClass::kFollow},
    {"Scan", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ControlFlowFacts() { return kFacts; }

}  // namespace onward
