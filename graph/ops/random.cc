// Random numbers: two runs of a node differ. Dropout does so in training mode only; see IsRandom.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Bernoulli", .autocast = kFull, .random = true},
    {.op = "Dropout", .autocast = kFollow, .widening = kMoves, .rows = DropoutRows},
    {.op = "Multinomial", .autocast = kFull, .random = true},
    {.op = "RandomNormal", .autocast = kFull, .random = true},
    {.op = "RandomNormalLike", .autocast = kFull, .random = true, .reads_shape_only = true},
    {.op = "RandomUniform", .autocast = kFull, .random = true},
    {.op = "RandomUniformLike", .autocast = kFull, .random = true, .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> RandomFacts() { return kFacts; }

}  // namespace onward
