// Sequences and optionals.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"ConcatFromSequence", Precision::kFollow}, {"Optional", Precision::kFollow},
    {"OptionalGetElement", Precision::kFollow}, {"OptionalHasElement", Precision::kFollow},
    {"SequenceAt", Precision::kFollow},         {"SequenceConstruct", Precision::kFollow},
    {"SequenceEmpty", Precision::kFollow},      {"SequenceErase", Precision::kFollow},
    {"SequenceInsert", Precision::kFollow},     {"SequenceLength", Precision::kFollow},
    {"SequenceMap", Precision::kFollow},        {"SplitToSequence", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> SequenceFacts() { return kFacts; }

}  // namespace onward
