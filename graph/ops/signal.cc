// Fourier transforms and windows.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BlackmanWindow", Precision::kFull},  {"DFT", Precision::kFull},
    {"HammingWindow", Precision::kFull},   {"HannWindow", Precision::kFull},
    {"MelWeightMatrix", Precision::kFull}, {"STFT", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> SignalFacts() { return kFacts; }

}  // namespace onward
