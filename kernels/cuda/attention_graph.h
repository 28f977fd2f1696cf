// Attention as a graph of cuDNN's operations, in the form that its fused kernels take.
#pragma once

#include "absl/status/status.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/shapes/attention.h"

namespace onward::kernels::cuda {

// Which scores count.
enum class AttentionMask : uint8_t {
  kNone,
  kCausal,       // key <= query
  kCausalAtEnd,  // the last query sees the last key
  kLengths,      // the first keys of each batch, as many as a tensor says
  kBias,         // what is added to the scores says so
};

// Q, K, V and Y in 16-bit floats, sums in float32.
struct AttentionCall {
  AttentionGeometry g;
  DType dtype = DType::kFloat16;
  float scale = 1;
  AttentionMask mask = AttentionMask::kNone;
  int64_t window = 0;  // of causal masks: the keys that a query sees, itself among them; 0: all
  // A bias is [batch or 1, heads or 1, queries, keys], its rows bias_row elements apart.
  bool bias_of_batch = false, bias_of_head = false;
  int64_t bias_row = 0;
};

// Unimplemented: heads that cuDNN's kernels do not take on all devices.
absl::Status CheckAttentionHeads(int64_t head_size, int64_t v_head_size);

// Memory: Q, K, V, the bias [...] or the counts of queries and keys (int32 [batch, 1, 1, 1]), Y.
CudnnGraph AttentionGraph(const AttentionCall& call);

}  // namespace onward::kernels::cuda
