// Attention of one query for each head, as decoders have it.
#pragma once

#include "kernels/cuda/attention_tiled.h"

namespace onward::kernels::cuda {

// The most elements of a head.
inline constexpr int64_t kLargestRowHead = 128;

inline bool IsRowOfAttention(const TiledAttention& call) {
  return call.g.q_len == 1 && call.g.head_size <= kLargestRowHead &&
         call.g.v_head_size <= kLargestRowHead;
}

// Puts it on the stream; IsRowOfAttention holds.
absl::Status RunAttentionRow(const TiledAttention& call, cudaStream_t stream);

}  // namespace onward::kernels::cuda
