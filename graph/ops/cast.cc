// Conversions of dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "BitCast", .autocast = kFollow},
    {.op = "Cast", .autocast = kFollow},
    {.op = "CastLike", .autocast = kFollow},
};

}  // namespace

absl::Span<const OpFacts> CastFacts() { return kFacts; }

}  // namespace onward
