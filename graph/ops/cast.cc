// Conversions of dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "BitCast", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "Cast", .autocast = kFollow, .rows = ElementwiseRows},
    {.op = "CastLike", .autocast = kFollow},
};

}  // namespace

absl::Span<const OpFacts> CastFacts() { return kFacts; }

}  // namespace onward
