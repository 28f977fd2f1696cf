// Movement of elements.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Concat", AutocastClass::kFollow},
    {"DepthToSpace", AutocastClass::kFollow},
    {"Expand", AutocastClass::kFollow},
    {.op = "Flatten", .autocast = AutocastClass::kFollow, .view = true},
    {.op = "Identity", .autocast = AutocastClass::kFollow, .view = true},
    {"Pad", AutocastClass::kFollow},
    {.op = "Reshape", .autocast = AutocastClass::kFollow, .view = true},
    {"ReverseSequence", AutocastClass::kFollow},
    {"Slice", AutocastClass::kFollow},
    {"SpaceToDepth", AutocastClass::kFollow},
    {"Split", AutocastClass::kFollow},
    {.op = "Squeeze", .autocast = AutocastClass::kFollow, .view = true},
    {"Tile", AutocastClass::kFollow},
    {"Transpose", AutocastClass::kFollow},
    {"Trilu", AutocastClass::kFollow},
    {.op = "Unsqueeze", .autocast = AutocastClass::kFollow, .view = true},
};

}  // namespace

absl::Span<const OpFacts> LayoutFacts() { return kFacts; }

}  // namespace onward
