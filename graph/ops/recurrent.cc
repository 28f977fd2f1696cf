// Recurrent layers.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"GRU", AutocastClass::kLower},
    {"LSTM", AutocastClass::kLower},
    {"RNN", AutocastClass::kLower},
};

}  // namespace

absl::Span<const OpFacts> RecurrentFacts() { return kFacts; }

}  // namespace onward
