// Fourier transforms and windows.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BlackmanWindow", AutocastClass::kFull},  {"DFT", AutocastClass::kFull},
    {"HammingWindow", AutocastClass::kFull},   {"HannWindow", AutocastClass::kFull},
    {"MelWeightMatrix", AutocastClass::kFull}, {"STFT", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> SignalFacts() { return kFacts; }

}  // namespace onward
