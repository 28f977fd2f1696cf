// Values from nothing, or from a shape alone.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Constant", AutocastClass::kFollow},
    {"ConstantOfShape", AutocastClass::kFollow},
    {.op = "EyeLike", .autocast = AutocastClass::kFull, .reads_shape_only = true},
    {"Range", AutocastClass::kFollow},
    {.op = "Shape", .autocast = AutocastClass::kFollow, .reads_shape_only = true},
    {.op = "Size", .autocast = AutocastClass::kFollow, .reads_shape_only = true},
};

}  // namespace

absl::Span<const OpFacts> ConstantFacts() { return kFacts; }

}  // namespace onward
