#include "kernels/bind/attention.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/bind/check_dims.h"

namespace onward::kernels {
namespace {

// Sizes and strides of one of Q, K and V.
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
};

absl::StatusOr<Heads> HeadsOf(const char* name, DimsView dims, int64_t num_heads) {
  Heads h;
  if (dims.size() == 4) {
    h = {dims[0], dims[1], dims[2], dims[3], 0, 0, dims[3]};
    h.head_stride = h.length * h.size;
    h.batch_stride = h.heads * h.head_stride;
    return h;
  }
  if (dims.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", DimsString(dims), " must have rank 3 or 4"));
  }
  if (num_heads < 1 || dims[2] % num_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", DimsString(dims), " does not divide into ", num_heads, " heads"));
  }
  h = {dims[0], num_heads, dims[1], dims[2] / num_heads, 0, dims[2] / num_heads, dims[2]};
  h.batch_stride = h.length * h.row_stride;
  return h;
}

absl::Status PlaceMask(DimsView mask, AttentionGeometry& g) {
  const int64_t sizes[] = {g.batch, g.q_heads, g.q_len};
  int64_t* strides[] = {&g.mask_batch, &g.mask_head, &g.mask_row};
  const auto mismatch = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("attn_mask ", DimsString(mask), " does not broadcast to ",
                     DimsString({g.batch, g.q_heads, g.q_len, g.total_len()})));
  };
  if (mask.empty() || mask.size() > 4 || mask.back() > g.total_len()) return mismatch();
  g.mask_len = mask.back();
  g.mask_column = 1;
  int64_t stride = g.mask_len;
  for (size_t i = 1; i < mask.size(); ++i) {
    const int64_t dim = mask[mask.size() - 1 - i];
    if (dim != 1 && dim != sizes[3 - i]) return mismatch();
    *strides[3 - i] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  return absl::OkStatus();
}

absl::Status PlacePast(const AttentionInputs& inputs, AttentionGeometry& g) {
  if ((inputs.past_key == nullptr) != (inputs.past_value == nullptr))
    return absl::InvalidArgumentError("past_key and past_value must be given together");
  if (inputs.past_key == nullptr) return absl::OkStatus();
  if (inputs.nonpad_kv_seqlen != nullptr)
    return absl::InvalidArgumentError("nonpad_kv_seqlen cannot be given with past_key");
  if (inputs.past_key->size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("past_key ", DimsString(*inputs.past_key), " must have rank 4"));
  }
  g.past_len = (*inputs.past_key)[2];
  ONWARD_RETURN_IF_ERROR(
      CheckDims("past_key", *inputs.past_key, {g.batch, g.kv_heads, g.past_len, g.head_size}));
  return CheckDims("past_value", *inputs.past_value,
                   {g.batch, g.kv_heads, g.past_len, g.v_head_size});
}

}  // namespace

absl::StatusOr<AttentionAttributes> AttentionAttributes::Parse(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  AttentionAttributes result;
  result.q_heads = attributes.Int("q_num_heads", 0);
  result.kv_heads = attributes.Int("kv_num_heads", 0);
  if (attributes.Has("scale")) result.scale = attributes.Float("scale", 0.0f);
  result.softcap = attributes.Float("softcap", 0.0f);
  result.causal = attributes.Int("is_causal", 0) != 0;
  result.left_window = attributes.Int("left_window_size", -1);
  result.right_window = attributes.Int("right_window_size", -1);
  result.qk_output_mode = attributes.Int("qk_matmul_output_mode", 0);
  const int64_t precision = attributes.Int("softmax_precision", 0);
  if (result.scale.has_value() && !(*result.scale >= 0.0f))
    return absl::InvalidArgumentError(
        absl::StrCat("scale is ", *result.scale, ", must be at least 0"));
  if (!(result.softcap >= 0.0f))
    return absl::InvalidArgumentError(
        absl::StrCat("softcap is ", result.softcap, ", must be at least 0"));
  if (result.left_window < -1 || result.right_window < -1)
    return absl::InvalidArgumentError("left_window_size and right_window_size must be at least -1");
  if (result.qk_output_mode < 0 || result.qk_output_mode > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("qk_matmul_output_mode is ", result.qk_output_mode, ", must be 0 to 3"));
  }
  if (precision != 0 && precision != 1 && precision != 10 && precision != 11 && precision != 16)
    return absl::InvalidArgumentError(
        absl::StrCat("softmax_precision is ", precision, ", must be 0, 1, 10, 11 or 16"));
  result.softmax_precision = static_cast<DType>(precision);
  return result;
}

absl::StatusOr<AttentionGeometry> AttentionDims(const AttentionAttributes& attributes,
                                                const AttentionInputs& inputs) {
  ONWARD_ASSIGN_OR_RETURN(const Heads q, HeadsOf("Q", inputs.q, attributes.q_heads));
  ONWARD_ASSIGN_OR_RETURN(const Heads k, HeadsOf("K", inputs.k, attributes.kv_heads));
  ONWARD_ASSIGN_OR_RETURN(const Heads v, HeadsOf("V", inputs.v, attributes.kv_heads));
  if (inputs.k.size() != inputs.q.size() || inputs.v.size() != inputs.q.size() ||
      k.batch != q.batch || v.batch != q.batch || k.size != q.size || v.heads != k.heads ||
      v.length != k.length || (q.heads > 0 && (k.heads < 1 || q.heads % k.heads != 0))) {
    return absl::InvalidArgumentError(absl::StrCat("Q ", DimsString(inputs.q), ", K ",
                                                   DimsString(inputs.k), " and V ",
                                                   DimsString(inputs.v), " do not fit each other"));
  }
  AttentionGeometry g;
  g.batch = q.batch;
  g.q_heads = q.heads;
  g.kv_heads = std::max<int64_t>(k.heads, 1);
  g.q_len = q.length;
  g.new_len = k.length;
  g.head_size = q.size;
  g.v_head_size = v.size;
  g.packed = inputs.q.size() == 3;
  g.q_batch = q.batch_stride, g.q_head = q.head_stride, g.q_row = q.row_stride;
  g.k_batch = k.batch_stride, g.k_head = k.head_stride, g.k_row = k.row_stride;
  g.v_batch = v.batch_stride, g.v_head = v.head_stride, g.v_row = v.row_stride;
  g.y_head = g.packed ? v.size : q.length * v.size;
  g.y_row = g.packed ? q.heads * v.size : v.size;
  g.y_batch = q.heads * q.length * v.size;
  ONWARD_RETURN_IF_ERROR(PlacePast(inputs, g));
  if (inputs.nonpad_kv_seqlen != nullptr)
    ONWARD_RETURN_IF_ERROR(CheckDims("nonpad_kv_seqlen", *inputs.nonpad_kv_seqlen, {g.batch}));
  if (inputs.mask != nullptr) ONWARD_RETURN_IF_ERROR(PlaceMask(*inputs.mask, g));
  const Dims scores = {g.batch, g.q_heads, g.q_len, g.total_len()};
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(scores).status());
  return g;
}

absl::StatusOr<AttentionGeometry> BindAttention(const AttentionAttributes& attributes,
                                                BindContext& context) {
  DimsView dims[7];
  const auto optional = [&](int i) -> const DimsView* {
    if (!context.has_input(i)) return nullptr;
    dims[i] = context.input_dims(i);
    return &dims[i];
  };
  const AttentionInputs inputs = {context.input_dims(0),
                                  context.input_dims(1),
                                  context.input_dims(2),
                                  optional(3),
                                  optional(4),
                                  optional(5),
                                  optional(6)};
  ONWARD_ASSIGN_OR_RETURN(const AttentionGeometry g, AttentionDims(attributes, inputs));
  if (g.packed) {
    context.SetOutput(0, {g.batch, g.q_len, g.q_heads * g.v_head_size});
  } else {
    context.SetOutput(0, {g.batch, g.q_heads, g.q_len, g.v_head_size});
  }
  if (context.has_output(1))
    context.SetOutput(1, {g.batch, g.kv_heads, g.total_len(), g.head_size});
  if (context.has_output(2))
    context.SetOutput(2, {g.batch, g.kv_heads, g.total_len(), g.v_head_size});
  if (context.has_output(3)) context.SetOutput(3, {g.batch, g.q_heads, g.q_len, g.total_len()});
  return g;
}

KeyRange AttendedKeys(const AttentionAttributes& attributes, const AttentionGeometry& g,
                      int64_t row, int64_t nonpad) {
  const int64_t total = g.total_len();
  const int64_t position = row + (nonpad >= 0 ? nonpad - g.q_len : g.past_len);
  KeyRange range = {0, total};
  if (nonpad >= 0) range.end = std::min(range.end, nonpad);
  if (attributes.causal) range.end = std::min(range.end, position + 1);
  // No sum with a window, which may be the largest int64, before it is known to be small. Positions
  // may be negative: fewer keys are valid than there are queries.
  if (attributes.right_window >= 0 && attributes.right_window < total - position)
    range.end = std::min(range.end, position + attributes.right_window + 1);
  if (attributes.left_window >= 0 && attributes.left_window <= position)
    range.begin = position - attributes.left_window;
  range.end = std::max<int64_t>(range.end, 0);
  range.begin = std::min(range.begin, range.end);
  return range;
}

absl::StatusOr<RotaryAttributes> RotaryAttributes::Parse(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  RotaryAttributes result;
  result.interleaved = attributes.Int("interleaved", 0) != 0;
  result.num_heads = attributes.Int("num_heads", 0);
  result.rotary_dim = attributes.Int("rotary_embedding_dim", 0);
  if (result.num_heads < 0 || result.rotary_dim < 0 || result.rotary_dim % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_heads is ", result.num_heads, ", rotary_embedding_dim ",
                     result.rotary_dim, "; neither may be negative, and the second must be even"));
  }
  return result;
}

absl::StatusOr<RotaryGeometry> RotaryDims(const RotaryAttributes& attributes, DimsView x,
                                          DimsView cos, DimsView sin,
                                          const DimsView* position_ids) {
  ONWARD_ASSIGN_OR_RETURN(const Heads h, HeadsOf("X", x, attributes.num_heads));
  RotaryGeometry g = {h.batch, h.heads, h.length, h.size, attributes.rotary_dim};
  g.x_batch = h.batch_stride, g.x_head = h.head_stride, g.x_step = h.row_stride;
  if (g.rotary_dim == 0) g.rotary_dim = g.head_size;
  if (g.rotary_dim > g.head_size || g.rotary_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a rotation of ", g.rotary_dim, " elements does not fit heads of ", g.head_size));
  }
  if (position_ids != nullptr) {
    ONWARD_RETURN_IF_ERROR(CheckDims("position_ids", *position_ids, {g.batch, g.steps}));
    g.positions = cos.size() == 2 ? cos[0] : 0;
    ONWARD_RETURN_IF_ERROR(CheckDims("cos_cache", cos, {g.positions, g.rotary_dim / 2}));
  } else {
    g.positions = g.batch * g.steps;
    ONWARD_RETURN_IF_ERROR(CheckDims("cos_cache", cos, {g.batch, g.steps, g.rotary_dim / 2}));
  }
  ONWARD_RETURN_IF_ERROR(CheckDims("sin_cache", sin, cos));
  return g;
}

}  // namespace onward::kernels
