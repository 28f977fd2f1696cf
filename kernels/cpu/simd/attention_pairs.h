// Softmax of a row of attention whose probabilities are multiplied as bfloat16.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct AttentionPairsKernels {
  // Writes 2^((x - most) / ln 2) of x = scale * scores + add, where `keep` is false 0, as bfloat16
  // and returns one over their sum. Exponentials are exact to 12 bits. `add` and `keep` may be
  // null; a row without any key becomes 0. `scores` may be overwritten.
  float (*exponentials)(float* scores, int64_t count, float scale, const float* add,
                        const bool* keep, uint16_t* to);
};

ONWARD_PER_TARGET(kBf16Loops, const AttentionPairsKernels&, AttentionPairs, ())

}  // namespace onward::kernels::cpu
