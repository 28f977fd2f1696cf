// Conversions of dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BitCast", Precision::kFollow},
    {"Cast", Precision::kFollow},
    {"CastLike", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> CastFacts() { return kFacts; }

}  // namespace onward
