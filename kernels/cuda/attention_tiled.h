// Attention and its gradient in kernels of our own, in float32: for what cuDNN does not take.
#pragma once

#include "kernels/cuda/attention_rules.h"
#include "kernels/cuda/status.h"

namespace onward::kernels::cuda {

// Addresses of tensors that lie as `g` says; gradients as what they are the gradients of.
struct TiledAttention {
  AttentionGeometry g;
  AttentionRules rules;
  int64_t group = 1;             // heads of queries that share one of keys
  float scale = 1, softcap = 0;  // 0: none
  DType dtype = DType::kFloat32;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* y = nullptr;
  const void* dy = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;  // null: not wanted
  // For each row of queries: the logarithm of its sum; its probabilities times their gradients.
  float *logs = nullptr, *shared = nullptr;
};

absl::Status RunTiledAttention(const TiledAttention& call, cudaStream_t stream);
absl::Status RunTiledAttentionGradient(const TiledAttention& call, cudaStream_t stream);

// onward.AttentionGradient as bound, and the places of what its scratch holds.
struct TiledGradient {
  TiledAttention call;
  int64_t logs = 0, shared = 0;
};
TiledGradient PlaceTiledGradient(const AttentionAttributes& attributes, const AttentionGeometry& g,
                                 BindContext& context);
absl::Status RunTiledGradient(const TiledGradient& gradient, RunContext& context);

}  // namespace onward::kernels::cuda
