// Values from nothing, or from a shape alone.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Constant", Precision::kFollow},
    {"ConstantOfShape", Precision::kFollow},
    {.op = "EyeLike", .precision = Precision::kFull, .reads_shape_only = true},
    {"Range", Precision::kFollow},
    {.op = "Shape", .precision = Precision::kFollow, .reads_shape_only = true},
    {.op = "Size", .precision = Precision::kFollow, .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> ConstantFacts() { return kFacts; }

}  // namespace onward
