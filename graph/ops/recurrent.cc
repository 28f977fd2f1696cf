// Recurrent layers.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"GRU", Precision::kLower},
    {"LSTM", Precision::kLower},
    {"RNN", Precision::kLower},
};

}  // namespace

absl::Span<const OpFacts> RecurrentFacts() { return kFacts; }

}  // namespace onward
