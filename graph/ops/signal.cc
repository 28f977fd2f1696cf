// Fourier transforms and windows.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "BlackmanWindow", .autocast = kFull},
    {.op = "DFT", .autocast = kFull, .rows = DftRows},
    {.op = "HammingWindow", .autocast = kFull},
    {.op = "HannWindow", .autocast = kFull},
    {.op = "MelWeightMatrix", .autocast = kFull},
    {.op = "STFT", .autocast = kFull, .rows = FirstAxisRows},
};

}  // namespace

absl::Span<const OpFacts> SignalFacts() { return kFacts; }

}  // namespace onward
