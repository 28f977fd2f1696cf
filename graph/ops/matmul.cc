// Products of matrices.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Det", .autocast = kFull, .rows = MatrixRows},
    {.op = "Einsum", .autocast = kLower, .widening = kComputes, .rows = EinsumRows},
    {.op = "Gemm",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = MatMulAdds,
     .rows = GemmRows},
    {.op = "MatMul",
     .autocast = kLower,
     .widening = kComputes,
     .multiply_adds = MatMulAdds,
     .rows = MatMulRows},
    {.op = "FusedMatMul", .domain = kOnwardDomain, .autocast = kLower, .multiply_adds = MatMulAdds},
    {.op = "MatMulNBits", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
    {.op = "FusedMatMul",
     .domain = kMicrosoftDomain,
     .autocast = kFull,
     .multiply_adds = MatMulAdds},
};

}  // namespace

absl::Span<const OpFacts> MatmulFacts() { return kFacts; }

}  // namespace onward
