#include "kernels/cuda/attention_masks.h"

#include <algorithm>
#include <cmath>

namespace onward::kernels::cuda {
namespace {

AttentionMask MaskOf(const AttentionMaskInputs& inputs, const AttentionGeometry& g,
                     const AttentionRules& r) {
  const bool has_counts = inputs.has_counts;
  const bool windows = r.left >= 0 || r.right >= 0;
  const bool last_sees_all =
      r.causal && !windows && g.q_len == 1 && (has_counts || (g.past_len > 0 && g.new_len == 1));
  if (inputs.mask_dtype != DType::kUndefined) return AttentionMask::kBias;
  if ((!r.causal && !windows && has_counts) || last_sees_all) return AttentionMask::kLengths;
  if (!r.causal && !windows)
    return inputs.grows && g.q_len == 1 ? AttentionMask::kLengths : AttentionMask::kNone;
  if (has_counts || !r.causal || r.right >= 0 || g.q_len > g.total_len())
    return AttentionMask::kBias;
  if (g.past_len == 0) return AttentionMask::kCausal;
  return g.new_len == g.q_len ? AttentionMask::kCausalAtEnd : AttentionMask::kBias;
}

}  // namespace

absl::StatusOr<int64_t> AttentionHeadSize(const NodeSpec& spec, int input, int64_t heads) {
  const std::optional<SymbolicDims>& dims = spec.input_type(input).shape;
  if (!dims || dims->size() < 3 || !dims->back().known())
    return absl::UnimplementedError("only heads whose size is known");
  return dims->size() == 4 ? dims->back().value()
                           : dims->back().value() / std::max<int64_t>(heads, 1);
}

absl::Status CheckAttentionRules(const AttentionAttributes& attributes, const NodeSpec& spec,
                                 int mask_input) {
  for (const int input : {1, 2})
    if (spec.input_dtype(input) != spec.input_dtype(0))
      return absl::UnimplementedError("only where Q, K and V have one type");
  const bool has_loop = DispatchDType(TypeList<bool, float, Float16, BFloat16>(),
                                      spec.input_dtype(mask_input), [](auto) {});
  if (spec.has_input(mask_input) && !has_loop)
    return absl::UnimplementedError("masks of bool, float32, float16 and bfloat16");
  if (attributes.softmax_precision == DType::kFloat64)
    return absl::UnimplementedError("the softmax is in float32");
  return absl::OkStatus();
}

absl::Status CheckCudnnAttention(const AttentionAttributes& attributes, const NodeSpec& spec,
                                 int mask_input) {
  const DType dtype = spec.input_dtype(0);
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    return absl::UnimplementedError("cuDNN's attention takes float16 and bfloat16");
  ONWARD_RETURN_IF_ERROR(CheckAttentionRules(attributes, spec, mask_input));
  if (attributes.softcap > 0) return absl::UnimplementedError("no softcap");
  ONWARD_ASSIGN_OR_RETURN(const int64_t size, AttentionHeadSize(spec, 1, attributes.kv_heads));
  ONWARD_ASSIGN_OR_RETURN(const int64_t v_size, AttentionHeadSize(spec, 2, attributes.kv_heads));
  return CheckAttentionHeads(size, v_size);
}

AttentionMasks ChooseMask(const AttentionAttributes& attributes, const AttentionMaskInputs& inputs,
                          AttentionCall& call) {
  const AttentionGeometry& g = call.g;
  AttentionMasks masks;
  AttentionRules& r = masks.rules;
  r.mask_dtype = inputs.mask_dtype;
  r.causal = attributes.causal;
  r.left = attributes.left_window, r.right = attributes.right_window;
  r.q_len = g.q_len, r.past_len = g.past_len, r.keys = g.total_len();
  r.mask_batch = g.mask_batch, r.mask_head = g.mask_head, r.mask_row = g.mask_row;
  r.mask_len = g.mask_len;
  r.batch = g.mask_batch != 0 || inputs.has_counts ? g.batch : 1;
  r.heads = g.mask_head != 0 ? g.q_heads : 1;
  call.scale = attributes.scale.value_or(1.0f / std::sqrt(static_cast<float>(g.head_size)));
  call.mask = MaskOf(inputs, g, r);
  if (r.left >= 0 && r.left < g.total_len()) call.window = r.left + 1;
  return masks;
}

void PlaceMask(AttentionCall& call, AttentionMasks& masks, Scratch& scratch) {
  const AttentionGeometry& g = call.g;
  if (call.mask == AttentionMask::kBias) {
    const int64_t row = (g.total_len() + 7) / 8 * 8, head = g.q_len * row;
    call.bias_row = row;
    if (masks.rules.heads != 1) call.bias_head = head;
    if (masks.rules.batch != 1) call.bias_batch = masks.rules.heads * head;
    const int64_t rows = masks.rules.batch * masks.rules.heads * g.q_len;
    masks.bias = scratch.Take(2 * rows * row);
    masks.hidden = scratch.Take(rows);
  } else if (call.mask == AttentionMask::kLengths) {
    masks.rules.batch = g.batch;
    const auto width = static_cast<int64_t>(sizeof(int32_t));
    masks.queries = scratch.Take(g.batch * width);
    masks.counts = scratch.Take(g.batch * width);
    masks.hidden = scratch.Take(g.batch);
  }
}

absl::Status WriteMask(const AttentionCall& call, const AttentionMasks& masks, char* scratch,
                       cudaStream_t stream, std::vector<const void*>* memory) {
  const auto hidden = reinterpret_cast<bool*>(scratch + masks.hidden);
  if (call.mask == AttentionMask::kBias) {
    memory->push_back(scratch + masks.bias);
    return WriteAttentionBias(masks.rules, call.dtype, call.bias_row, scratch + masks.bias, hidden,
                              stream);
  }
  if (call.mask != AttentionMask::kLengths) return absl::OkStatus();
  const auto queries = reinterpret_cast<int32_t*>(scratch + masks.queries);
  const auto counts = reinterpret_cast<int32_t*>(scratch + masks.counts);
  memory->insert(memory->end(), {queries, counts});
  return WriteAttentionCounts(masks.rules, call.g.batch, queries, counts, hidden, stream);
}

bool HidesRows(const AttentionCall& call, const AttentionRules& rules) {
  return call.mask == AttentionMask::kBias ||
         (call.mask == AttentionMask::kLengths && rules.counts != nullptr);
}

absl::Status ZeroHidden(const AttentionCall& call, const AttentionMasks& masks, const char* scratch,
                        void* y, cudaStream_t stream) {
  if (!HidesRows(call, masks.rules)) return absl::OkStatus();
  const int64_t rows = call.mask == AttentionMask::kBias ? call.g.q_len : 1;
  return ZeroHiddenRows(call.g, masks.rules, rows,
                        reinterpret_cast<const bool*>(scratch + masks.hidden), y, stream);
}

absl::Status CheckAligned(absl::Span<const void* const> memory) {
  for (const void* address : memory) {
    if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
      return absl::InvalidArgumentError(
          "a tensor of the caller on the device does not begin at a multiple of 16 bytes");
  }
  return absl::OkStatus();
}

}  // namespace onward::kernels::cuda
