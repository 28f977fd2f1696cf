// The keys that rows of Attention attend, and the softmax over them, in float32; Attention and its
// gradient share them.
#pragma once

#include "kernels/bind/attention.h"
#include "kernels/cpu/simd/attention_pairs.h"
#include "kernels/cpu/simd/attention_row.h"

namespace onward::kernels::cpu {

// The keys of a block of query rows. Ranges of later rows begin and end later.
struct BlockKeys {
  static constexpr int64_t kMostRows = 132;

  KeyRange all;                // that any row may attend, from a multiple of the alignment on
  int64_t rows = 0;            // 1 to kMostRows
  KeyRange of_row[kMostRows];  // from all.begin on

  int64_t count() const { return all.end - all.begin; }
  // The keys of rows [begin, end), from all.begin on.
  KeyRange Of(int64_t begin, int64_t end) const {
    return {of_row[begin].begin, of_row[end - 1].end};
  }
  // The rows [begin, end) that may attend one of the keys [begin, end) from all.begin on.
  KeyRange RowsOf(int64_t begin, int64_t end) const;
};

class AttentionRows {
 public:
  // Where the node has attn_mask, which may be of bool or float32, and nonpad_kv_seqlen.
  AttentionRows(const AttentionAttributes& attributes, const NodeSpec& spec, int mask, int nonpad,
                Target target);

  // Unimplemented for a dtype of the mask or of the softmax that these rows do not have.
  static absl::Status CheckTypes(const AttentionAttributes& attributes, const NodeSpec& spec,
                                 int mask);
  // InvalidArgument: a number of valid keys is out of range.
  absl::Status CheckNonpad(const RunContext& context, const AttentionGeometry& g) const;

  float ScaleOf(const AttentionGeometry& g) const;
  // The keys that a query may attend by its position and the mask's length.
  KeyRange KeysOf(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                  int64_t query) const;
  BlockKeys KeysOfBlock(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                        int64_t first_query, int64_t rows, int64_t alignment) const;
  // Products scores[j] of the query with keys `block` become probabilities, 0 for those that it
  // does not attend. Returns those it may attend, within `block`.
  KeyRange Softmax(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                   int64_t head, int64_t query, KeyRange block, float* scores) const;

  // The same, not yet divided by their sum, as bfloat16 at to[j] for keys `block`, and 0 behind the
  // last of an odd number of them. Returns one over the sum. Only for targets of kBf16Loops.
  float Exponentials(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                     int64_t head, int64_t query, KeyRange block, float* scores,
                     uint16_t* to) const;

  // 0 in `block` outside of `keys`.
  static void FillOutside(KeyRange keys, KeyRange block, float* scores);

  const AttentionRowKernels& kernels() const { return kernels_; }

 private:
  // Some keys of a query, and what masks them; null: nothing.
  struct Masked {
    KeyRange keys;
    const float* add = nullptr;
    const bool* keep = nullptr;
  };
  Masked MaskedKeys(const RunContext& context, const AttentionGeometry& g, int64_t batch,
                    int64_t head, int64_t query, KeyRange block) const;

  const AttentionAttributes attributes_;
  const int mask_, nonpad_;
  const bool boolean_mask_;
  const AttentionRowKernels& kernels_;
  const AttentionPairsKernels* pairs_;  // null: the target has none
};

}  // namespace onward::kernels::cpu
