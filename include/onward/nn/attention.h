// Scaled dot-product attention and multi-head attention.
#pragma once

#include <optional>

#include "onward/nn/linear.h"

namespace onward::nn {

struct AttentionOptions {
  Expr mask = {};  // bool (true: attend) or added to the scores; broadcasts to them
  bool causal = false;
  double dropout = 0;                          // of probabilities, when training
  std::optional<double> scale = std::nullopt;  // 1 / sqrt(size of a head)
};

// Operands are [batch, heads, positions, size]; keys and values may have fewer heads, which groups
// of queries share. One Attention node, or its parts where there is a dropout between them. A query
// that may attend to nothing gets zeros.
Expr ScaledDotProductAttention(const Expr& query, const Expr& key, const Expr& value,
                               const AttentionOptions& options = {});

// The same with the heads side by side in the last axis: [batch, positions, heads * size].
Expr PackedAttention(const Expr& query, const Expr& key, const Expr& value, int64_t query_heads,
                     int64_t key_heads, const AttentionOptions& options = {});

// The same after keys and values of earlier positions, [batch, key_heads, past, size]; returns the
// result, and keys and values with the new positions behind the earlier ones.
struct CachedAttention {
  Expr result, keys, values;
};
CachedAttention PackedAttentionAfter(const Expr& past_keys, const Expr& past_values,
                                     const Expr& query, const Expr& key, const Expr& value,
                                     int64_t query_heads, int64_t key_heads,
                                     const AttentionOptions& options = {});

struct MultiheadAttentionOptions {
  double dropout = 0;
  bool bias = true;
  int64_t kdim = 0, vdim = 0;  // sizes of keys and values; 0: the embedding's
  bool batch_first = false;
  bool add_bias_kv = false;    // a learned key and value besides the given ones
  bool add_zero_attn = false;  // a key and a value of zeros
};

// Masks as PyTorch's module has them: bool masks are true where a position must not be attended to.
struct AttentionMasks {
  Expr mask = {};              // [positions, keys], or [batch * heads, positions, keys]
  Expr key_padding_mask = {};  // [batch, keys]
  bool causal = false;         // besides the masks
};

class MultiheadAttention : public Module {
 public:
  using Options = MultiheadAttentionOptions;
  MultiheadAttention(Module& parent, std::string_view name, int64_t size, int64_t heads,
                     const Options& options = {});
  // Operands are [positions, batch, size], or [batch, positions, size] with batch_first.
  Expr operator()(const Expr& query, const Expr& key, const Expr& value,
                  const AttentionMasks& masks = {});

  // Also what each position attends to (PyTorch's need_weights): [batch, positions, keys], the mean
  // over the heads, or [batch, heads, positions, keys] of each.
  struct WithWeights {
    Expr output, weights;
  };
  WithWeights AndWeights(const Expr& query, const Expr& key, const Expr& value,
                         const AttentionMasks& masks = {}, bool of_each_head = false);

  Expr in_proj_weight, in_proj_bias;                 // [3 size, size], of equal sizes
  Expr q_proj_weight, k_proj_weight, v_proj_weight;  // else
  Expr bias_k, bias_v;                               // [1, 1, size], of add_bias_kv
  Expr out_proj_weight, out_proj_bias;

 private:
  // Queries, keys and values [batch, positions, size] for a call, and its options.
  struct Call {
    std::vector<Expr> projected;
    AttentionOptions options;
  };
  std::optional<Call> Prepare(const Expr& query, const Expr& key, const Expr& value,
                              const AttentionMasks& masks);
  Expr Turned(const Expr& x) const;  // between batch_first or not and batches first
  std::vector<Expr> Project(const Expr& query, const Expr& key, const Expr& value);
  Expr Mask(const AttentionMasks& masks) const;
  void AddKeys(std::vector<Expr>& projected, AttentionOptions& options) const;

  const int64_t size_, heads_;
  const Options options_;
};

}  // namespace onward::nn
