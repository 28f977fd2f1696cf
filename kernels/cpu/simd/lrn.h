// LRN of float32: y = x / (bias + scale * the sum of squares of the channels around)^beta.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Channels stand `stride` apart.
struct LrnChannels {
  int64_t count = 0, stride = 0;
  int64_t before = 0, after = 0;  // channels around one that its sum has
  float scale = 0, beta = 0, bias = 0;
};

// Normalises `columns` neighbouring columns of all channels.
using LrnLoop = void (*)(const LrnChannels& channels, const float* x, int64_t columns, float* y);

ONWARD_PER_TARGET(kVectorLoops, LrnLoop, Lrn, ())

}  // namespace onward::kernels::cpu
