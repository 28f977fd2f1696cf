// Attention of one query row in float32, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct AttentionRowKernels {
  // scores[j] = sum over d of q[d] k[j * k_row + d], for j < keys.
  void (*dots)(const float* q, const float* k, int64_t k_row, int64_t keys, int64_t depth,
               float* scores);
  // scores = softmax(scale * scores + add), where `keep` is false 0. `add` and `keep` may be null;
  // a row without any key becomes 0.
  void (*softmax)(float* scores, int64_t count, float scale, const float* add, const bool* keep);
  // From the gradient of probabilities p to that of the products behind them: upstream = scale * p
  // * (upstream - sum of p * upstream).
  void (*gradient)(const float* p, float* upstream, int64_t count, float scale);
};

ONWARD_PER_TARGET(kVectorLoops, const AttentionRowKernels&, AttentionRows, ())

}  // namespace onward::kernels::cpu
