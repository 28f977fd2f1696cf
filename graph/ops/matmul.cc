// Products of matrices.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Det", AutocastClass::kFull},
    {"Einsum", AutocastClass::kLower},
    {"Gemm", AutocastClass::kLower},
    {"MatMul", AutocastClass::kLower},
};

}  // namespace

absl::Span<const OpFacts> MatmulFacts() { return kFacts; }

}  // namespace onward
