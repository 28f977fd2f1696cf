// Random numbers: two runs of a node differ. Dropout does so in training mode only; see IsRandom.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {.op = "Bernoulli", .autocast = AutocastClass::kFull, .random = true},
    {"Dropout", AutocastClass::kFollow},
    {.op = "Multinomial", .autocast = AutocastClass::kFull, .random = true},
    {.op = "RandomNormal", .autocast = AutocastClass::kFull, .random = true},
    {.op = "RandomNormalLike",
     .autocast = AutocastClass::kFull,
     .random = true,
     .reads_shape_only = true},
    {.op = "RandomUniform", .autocast = AutocastClass::kFull, .random = true},
    {.op = "RandomUniformLike",
     .autocast = AutocastClass::kFull,
     .random = true,
     .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> RandomFacts() { return kFacts; }

}  // namespace onward
