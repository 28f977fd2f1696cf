// The keys that a query attends, in kernels.
#pragma once

#include <limits>

#include "kernels/cuda/attention_rules.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"

namespace onward::kernels::cuda {

// The keys [begin, end) that a row may attend before the mask; see AttendedKeys.
struct KeySpan {
  int64_t begin, end;
};
__device__ inline KeySpan SpanOf(const AttentionRules& r, int64_t batch, int64_t row) {
  int64_t position = row + r.past_len;
  KeySpan span = {0, r.mask == nullptr ? r.keys : r.mask_len};
  if (r.counts != nullptr) {
    int64_t count = r.counts[batch];
    if (count < 0 || count > r.keys) {
      ReportBadIndex(r.fault, batch, count, r.keys + 1);
      count = 0;
    }
    position = row + count - r.q_len;
    span.end = count < span.end ? count : span.end;
  }
  if (r.causal && position + 1 < span.end) span.end = position + 1;
  if (r.right >= 0 && r.right < span.end - position) span.end = position + r.right + 1;
  if (r.left >= 0 && r.left <= position) span.begin = position - r.left;
  if (span.end < 0) span.end = 0;
  if (span.begin > span.end) span.begin = span.end;
  return span;
}

// Returns what an element of the mask adds to a score.
template <typename M>
__device__ inline float Masked(M element) {
  if constexpr (std::is_same_v<M, bool>) {
    return element ? 0.0f : -std::numeric_limits<float>::infinity();
  } else {
    return Load(element);
  }
}

}  // namespace onward::kernels::cuda
