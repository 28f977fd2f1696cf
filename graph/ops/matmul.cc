// Products of matrices.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Det", Precision::kFull},
    {"Einsum", Precision::kLower},
    {"Gemm", Precision::kLower},
    {"MatMul", Precision::kLower},
};

}  // namespace

absl::Span<const OpFacts> MatmulFacts() { return kFacts; }

}  // namespace onward
