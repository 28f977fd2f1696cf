// Sampling of images.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"AffineGrid", Precision::kFull}, {"CenterCropPad", Precision::kFollow},
    {"GridSample", Precision::kFull}, {"ImageDecoder", Precision::kFull},
    {"Resize", Precision::kFull},     {"Upsample", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> ResizeFacts() { return kFacts; }

}  // namespace onward
