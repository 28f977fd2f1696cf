// The surroundings of cuDNN's attention: caches that grow, masks, and rows that attend nothing.
#pragma once

#include "kernels/bind/attention.h"
#include "kernels/cuda/attention_rules.h"
#include "kernels/cuda/status.h"

namespace onward::kernels::cuda {

// Positions of a head's cache: those before, then new ones, then zeros. 16-bit elements, in runs of
// 8.
struct AppendedHeads {
  const void* past = nullptr;  // [batch, heads, past_len, size]
  const void* fresh = nullptr;
  void* to = nullptr;  // [batch, heads, capacity, size]
  int64_t batch = 0, heads = 0, past_len = 0, new_len = 0, capacity = 0, size = 0;
  int64_t fresh_batch = 0, fresh_head = 0, fresh_row = 0;  // in elements
};
absl::Status AppendHeads(const AppendedHeads& heads, cudaStream_t stream);

// Writes what is added to scores, rows `row` elements apart, and for each row whether it attends
// nothing.
absl::Status WriteAttentionBias(const AttentionRules& rules, DType dtype, int64_t row, void* bias,
                                bool* hidden, cudaStream_t stream);

// Writes the counts of queries and keys of each batch, at least one key, and whether there was
// none; all keys count where rules.counts is null.
absl::Status WriteAttentionCounts(const AttentionRules& rules, int64_t batch, int32_t* queries,
                                  int32_t* keys, bool* hidden, cudaStream_t stream);

// Zeros for the rows of Y that attend nothing; `hidden` is [rules.batch, rules.heads, rows].
absl::Status ZeroHiddenRows(const AttentionGeometry& g, const AttentionRules& rules, int64_t rows,
                            const bool* hidden, void* y, cudaStream_t stream);

}  // namespace onward::kernels::cuda
