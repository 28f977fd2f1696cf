#include "kernels/cpu/attention_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace onward::kernels::cpu {
namespace {

const AttentionPairsKernels* PairsOf(Target target) {
  return (kBf16Targets & MaskOf(target)) == 0 ? nullptr : &kAttentionPairsPerTarget.For(target)();
}

}  // namespace

AttentionRows::AttentionRows(const AttentionAttributes& attributes, const NodeSpec& spec, int mask,
                             int nonpad, Target target)
    : attributes_(attributes),
      mask_(mask),
      nonpad_(nonpad),
      boolean_mask_(spec.input_dtype(mask) == DType::kBool),
      kernels_(kAttentionRowsPerTarget.For(target)()),
      pairs_(PairsOf(target)) {}

absl::Status AttentionRows::CheckTypes(const AttentionAttributes& attributes, const NodeSpec& spec,
                                       int mask) {
  const DType dtype = spec.input_dtype(mask), precision = attributes.softmax_precision;
  if (spec.has_input(mask) && dtype != DType::kBool && dtype != DType::kFloat32)
    return absl::UnimplementedError("masks of bool and float32 only");
  if (attributes.softcap > 0.0f ||
      (precision != DType::kUndefined && precision != DType::kFloat32)) {
    return absl::UnimplementedError("no softcap or other softmax_precision");
  }
  return absl::OkStatus();
}

absl::Status AttentionRows::CheckNonpad(const RunContext& context,
                                        const AttentionGeometry& g) const {
  for (int64_t i = 0; context.has_input(nonpad_) && i < g.batch; ++i) {
    const int64_t nonpad = context.in<int64_t>(nonpad_)[i];
    if (nonpad < 0 || nonpad > g.total_len()) {
      return absl::InvalidArgumentError(
          absl::StrCat("nonpad_kv_seqlen[", i, "] is ", nonpad, ", expected 0 to ", g.total_len()));
    }
  }
  return absl::OkStatus();
}

float AttentionRows::ScaleOf(const AttentionGeometry& g) const {
  return attributes_.scale.has_value() ? *attributes_.scale
                                       : 1.0f / std::sqrt(static_cast<float>(g.head_size));
}

KeyRange AttentionRows::KeysOf(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                               int64_t query) const {
  KeyRange keys = AttendedKeys(
      attributes_, g, query, context.has_input(nonpad_) ? context.in<int64_t>(nonpad_)[batch] : -1);
  if (context.has_input(mask_)) keys.end = std::min(keys.end, g.mask_len);
  keys.begin = std::min(keys.begin, keys.end);
  return keys;
}

KeyRange BlockKeys::RowsOf(int64_t begin, int64_t end) const {
  const KeyRange *from = of_row, *to = of_row + rows;
  const auto* first =
      std::partition_point(from, to, [&](const KeyRange& keys) { return keys.end <= begin; });
  const auto* last =
      std::partition_point(from, to, [&](const KeyRange& keys) { return keys.begin < end; });
  return {first - from, last - from};
}

BlockKeys AttentionRows::KeysOfBlock(const RunContext& context, const AttentionGeometry& g,
                                     int64_t batch, int64_t first_query, int64_t rows,
                                     int64_t alignment) const {
  BlockKeys keys;
  keys.rows = rows;
  for (int64_t r = 0; r < rows; ++r) keys.of_row[r] = KeysOf(context, g, batch, first_query + r);
  keys.all.end = keys.of_row[rows - 1].end;
  keys.all.begin = std::min(keys.of_row[0].begin, keys.all.end) / alignment * alignment;
  for (int64_t r = 0; r < rows; ++r) {
    KeyRange& own = keys.of_row[r];
    own.begin = std::max<int64_t>(own.begin - keys.all.begin, 0);
    own.end = std::max(own.end - keys.all.begin, own.begin);
  }
  return keys;
}

void AttentionRows::FillOutside(KeyRange keys, KeyRange block, float* scores) {
  std::fill(scores + block.begin, scores + keys.begin, 0.0f);
  std::fill(scores + keys.end, scores + block.end, 0.0f);
}

AttentionRows::Masked AttentionRows::MaskedKeys(const RunContext& context,
                                                const AttentionGeometry& g, int64_t batch,
                                                int64_t head, int64_t query, KeyRange block) const {
  Masked masked;
  KeyRange& keys = masked.keys;
  keys = KeysOf(context, g, batch, query);
  keys.begin = std::clamp(keys.begin, block.begin, block.end);
  keys.end = std::clamp(keys.end, keys.begin, block.end);
  if (context.has_input(mask_) && keys.begin < keys.end) {
    const int64_t at = batch * g.mask_batch + head * g.mask_head + query * g.mask_row + keys.begin;
    if (boolean_mask_) {
      masked.keep = context.in<bool>(mask_) + at;
    } else {
      masked.add = context.in<float>(mask_) + at;
    }
  }
  return masked;
}

KeyRange AttentionRows::Softmax(const RunContext& context, const AttentionGeometry& g,
                                int64_t batch, int64_t head, int64_t query, KeyRange block,
                                float* scores) const {
  const Masked masked = MaskedKeys(context, g, batch, head, query, block);
  const KeyRange& keys = masked.keys;
  kernels_.softmax(scores + keys.begin, keys.end - keys.begin, ScaleOf(g), masked.add, masked.keep);
  // Afterwards: a vector must not be read while parts of it are still being stored.
  FillOutside(keys, block, scores);
  return keys;
}

float AttentionRows::Exponentials(const RunContext& context, const AttentionGeometry& g,
                                  int64_t batch, int64_t head, int64_t query, KeyRange block,
                                  float* scores, uint16_t* to) const {
  const Masked masked = MaskedKeys(context, g, batch, head, query, block);
  const KeyRange& keys = masked.keys;
  const int64_t behind = block.end + (block.end - block.begin) % 2;
  std::fill(to, to + (keys.begin - block.begin), uint16_t{0});
  std::fill(to + (keys.end - block.begin), to + (behind - block.begin), uint16_t{0});
  return pairs_->exponentials(scores + keys.begin, keys.end - keys.begin, ScaleOf(g), masked.add,
                              masked.keep, to + (keys.begin - block.begin));
}

}  // namespace onward::kernels::cpu
