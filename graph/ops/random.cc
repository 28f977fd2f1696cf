// Random numbers: two runs of a node differ. Dropout does so in training mode only; see IsRandom.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {.op = "Bernoulli", .precision = Precision::kFull, .random = true},
    {"Dropout", Precision::kFollow},
    {.op = "Multinomial", .precision = Precision::kFull, .random = true},
    {.op = "RandomNormal", .precision = Precision::kFull, .random = true},
    {.op = "RandomNormalLike",
     .precision = Precision::kFull,
     .random = true,
     .reads_shape_only = true},
    {.op = "RandomUniform", .precision = Precision::kFull, .random = true},
    {.op = "RandomUniformLike",
     .precision = Precision::kFull,
     .random = true,
     .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> RandomFacts() { return kFacts; }

}  // namespace onward
