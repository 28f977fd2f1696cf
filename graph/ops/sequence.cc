// Sequences and optionals.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ConcatFromSequence", AutocastClass::kFollow}, {"Optional", AutocastClass::kFollow},
    {"OptionalGetElement", AutocastClass::kFollow}, {"OptionalHasElement", AutocastClass::kFollow},
    {"SequenceAt", AutocastClass::kFollow},         {"SequenceConstruct", AutocastClass::kFollow},
    {"SequenceEmpty", AutocastClass::kFollow},      {"SequenceErase", AutocastClass::kFollow},
    {"SequenceInsert", AutocastClass::kFollow},     {"SequenceLength", AutocastClass::kFollow},
    {"SequenceMap", AutocastClass::kFollow},        {"SplitToSequence", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> SequenceFacts() { return kFacts; }

}  // namespace onward
