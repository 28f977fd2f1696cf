// Conversions of dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BitCast", AutocastClass::kFollow},
    {"Cast", AutocastClass::kFollow},
    {"CastLike", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> CastFacts() { return kFacts; }

}  // namespace onward
