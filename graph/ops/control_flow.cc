// Bodies decide for themselves.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "If", .autocast = kFollow},
    {.op = "Loop", .autocast = kFollow},
    {.op = "Scan", .autocast = kFollow},
};

}  // namespace

absl::Span<const OpFacts> ControlFlowFacts() { return kFacts; }

}  // namespace onward
