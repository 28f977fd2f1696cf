// Movement of elements.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Concat", Precision::kFollow},
    {"DepthToSpace", Precision::kFollow},
    {"Expand", Precision::kFollow},
    {.op = "Flatten", .precision = Precision::kFollow, .view = true},
    {.op = "Identity", .precision = Precision::kFollow, .view = true},
    {"Pad", Precision::kFollow},
    {.op = "Reshape", .precision = Precision::kFollow, .view = true},
    {"ReverseSequence", Precision::kFollow},
    {"Slice", Precision::kFollow},
    {"SpaceToDepth", Precision::kFollow},
    {"Split", Precision::kFollow},
    {.op = "Squeeze", .precision = Precision::kFollow, .view = true},
    {"Tile", Precision::kFollow},
    {"Transpose", Precision::kFollow},
    {"Trilu", Precision::kFollow},
    {.op = "Unsqueeze", .precision = Precision::kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> LayoutFacts() { return kFacts; }

}  // namespace onward
