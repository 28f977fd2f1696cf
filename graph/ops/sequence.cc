// Sequences and optionals.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "ConcatFromSequence", .autocast = kFollow},
    {.op = "Optional", .autocast = kFollow},
    {.op = "OptionalGetElement", .autocast = kFollow},
    {.op = "OptionalHasElement", .autocast = kFollow},
    {.op = "SequenceAt", .autocast = kFollow},
    {.op = "SequenceConstruct", .autocast = kFollow},
    {.op = "SequenceEmpty", .autocast = kFollow},
    {.op = "SequenceErase", .autocast = kFollow},
    {.op = "SequenceInsert", .autocast = kFollow},
    {.op = "SequenceLength", .autocast = kFollow},
    {.op = "SequenceMap", .autocast = kFollow},
    {.op = "SplitToSequence", .autocast = kFollow},
};

}  // namespace

absl::Span<const OpFacts> SequenceFacts() { return kFacts; }

}  // namespace onward
