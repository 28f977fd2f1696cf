// Recurrent layers.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "GRU",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = RecurrentAdds,
     .rows = RecurrentRows},
    {.op = "LSTM",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = RecurrentAdds,
     .rows = RecurrentRows},
    {.op = "LstmWithGates",
     .domain = kOnwardDomain,
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = RecurrentAdds,
     .rows = RecurrentRows},
    {.op = "RNN",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = RecurrentAdds,
     .rows = RecurrentRows},
};

}  // namespace

absl::Span<const OpFacts> RecurrentFacts() { return kFacts; }

}  // namespace onward
