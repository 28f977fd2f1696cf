// Shapes of Attention and RotaryEmbedding.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

struct AttentionAttributes {
  int64_t q_heads = 0;  // 0: absent, as rank-4 inputs have it
  int64_t kv_heads = 0;
  std::optional<float> scale;
  float softcap = 0.0f;
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;
  int64_t qk_output_mode = 0;
  DType softmax_precision = DType::kUndefined;

  static absl::StatusOr<AttentionAttributes> Parse(const NodeSpec& spec);
};

// Sizes and strides in elements. Within a head, rows (positions) are `*_row` apart and elements are
// adjacent.
struct AttentionGeometry {
  int64_t batch = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t q_len = 0;
  int64_t new_len = 0;   // of K and V
  int64_t past_len = 0;  // of past_key and past_value
  int64_t head_size = 0;
  int64_t v_head_size = 0;
  int64_t q_batch = 0, q_head = 0, q_row = 0;
  int64_t k_batch = 0, k_head = 0, k_row = 0;
  int64_t v_batch = 0, v_head = 0, v_row = 0;
  int64_t y_batch = 0, y_head = 0, y_row = 0;
  // attn_mask; positions from mask_len on are masked out.
  int64_t mask_batch = 0, mask_head = 0, mask_row = 0, mask_column = 0, mask_len = 0;
  bool packed = false;  // rank-3 inputs: heads are part of the last axis

  int64_t total_len() const { return past_len + new_len; }
  int64_t group() const { return q_heads / kv_heads; }
};

// Dims of the inputs, null where omitted.
struct AttentionInputs {
  DimsView q, k, v;
  const DimsView* mask = nullptr;
  const DimsView* past_key = nullptr;
  const DimsView* past_value = nullptr;
  const DimsView* nonpad_kv_seqlen = nullptr;
};

absl::StatusOr<AttentionGeometry> AttentionDims(const AttentionAttributes& attributes,
                                                const AttentionInputs& inputs);

// Checks every input of the node that `context` binds, sets its outputs and returns the sizes.
absl::StatusOr<AttentionGeometry> BindAttention(const AttentionAttributes& attributes,
                                                BindContext& context);

// The keys [begin, end) that query row `row` may attend, before attn_mask. `nonpad` is the batch's
// nonpad_kv_seqlen, or -1.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};
KeyRange AttendedKeys(const AttentionAttributes& attributes, const AttentionGeometry& g,
                      int64_t row, int64_t nonpad);

struct RotaryAttributes {
  bool interleaved = false;
  int64_t num_heads = 0;
  int64_t rotary_dim = 0;  // 0: the whole head

  static absl::StatusOr<RotaryAttributes> Parse(const NodeSpec& spec);
};

struct RotaryGeometry {
  int64_t batch = 0, heads = 0, steps = 0, head_size = 0, rotary_dim = 0;
  int64_t x_batch = 0, x_head = 0, x_step = 0;
  int64_t positions = 0;  // rows of the caches; with position_ids their exclusive upper bound
};

// `position_ids` is null when omitted.
absl::StatusOr<RotaryGeometry> RotaryDims(const RotaryAttributes& attributes, DimsView x,
                                          DimsView cos, DimsView sin, const DimsView* position_ids);

}  // namespace onward::kernels
