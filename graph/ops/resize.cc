// Sampling of images.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"AffineGrid", AutocastClass::kFull}, {"CenterCropPad", AutocastClass::kFollow},
    {"GridSample", AutocastClass::kFull}, {"ImageDecoder", AutocastClass::kFull},
    {"Resize", AutocastClass::kFull},     {"Upsample", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> ResizeFacts() { return kFacts; }

}  // namespace onward
