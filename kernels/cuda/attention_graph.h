// Attention as a graph of cuDNN's operations, in the form that its fused kernels take.
#pragma once

#include "absl/status/status.h"
#include "kernels/bind/attention.h"
#include "kernels/cuda/cudnn_graph.h"

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
  // Strides of a bias; 0: one for all batches or heads.
  int64_t bias_batch = 0, bias_head = 0, bias_row = 0;
  bool keeps_logs = false;  // of the sums of rows, for the gradient
};

// Unimplemented: heads that cuDNN's kernels do not take on all devices.
absl::Status CheckAttentionHeads(int64_t head_size, int64_t v_head_size);

// Memory: Q, K, V, the bias or the counts of queries and keys (int32 [batch, 1, 1, 1]), Y, and
// where they are kept, the logarithms of sums (float32 [batch, heads, queries, 1]).
CudnnGraph AttentionGraph(const AttentionCall& call);

// Memory: Q, K, V, the bias or the counts, Y, dY, the logarithms of sums, a number for each row
// (float32 [batch, heads, queries, 1]), dV, dK, dQ. Gradients lie as what they are the gradients
// of, dY as Y. The workspace holds a score in 16 bits for each query and key, which lets sums of dQ
// have one order: without them cuDNN adds in the order in which its blocks end.
CudnnGraph AttentionGradientGraph(const AttentionCall& call);

}  // namespace onward::kernels::cuda
