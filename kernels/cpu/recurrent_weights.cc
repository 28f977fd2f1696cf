#include "kernels/cpu/recurrent_weights.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::kernels::cpu {

WeightSizes SizesOf(const RecurrentAttributes& a, const GemmTileKernels& tiles, int64_t hidden,
                    int64_t input, bool has_bias) {
  const int64_t cols = tiles.tile_cols, padded = (hidden + cols - 1) / cols * cols;
  return {
      a.directions, a.gates(),        hidden,   input,
      padded,       tiles.k_per_word, has_bias, a.op == RecurrentOp::kGru && a.linear_before_reset};
}

void PackPanel(const GemmTileKernels& tiles, const WeightSizes& s, const float* from, int64_t k,
               int64_t panel, float* to) {
  const int64_t cols = tiles.tile_cols, blocks = s.padded / cols;
  const int64_t gate = panel % s.gates, block = panel / s.gates % blocks;
  const int64_t direction = panel / (s.gates * blocks);
  const int units = static_cast<int>(std::min(cols, s.hidden - block * cols));
  tiles.pack_columns_transposed(from + ((direction * s.gates + gate) * s.hidden + block * cols) * k,
                                k, units, k, 1.0f, to + panel * s.words(k) * cols);
}
void PackMatrix(const GemmTileKernels& tiles, const WeightSizes& s, const float* from, int64_t k,
                float* to) {
  for (int64_t i = 0; i < s.columns() / tiles.tile_cols; ++i) PackPanel(tiles, s, from, k, i, to);
}

void PackBias(const GemmTileKernels& tiles, const WeightSizes& s, const float* from,
              const PackedWeights& to) {
  const int64_t cols = tiles.tile_cols, rows = s.gates * s.hidden;
  std::fill_n(to.bias, s.bias(), 0.0f);
  if (s.split) std::fill_n(to.candidate_bias, s.candidate_bias(), 0.0f);
  for (int64_t d = 0; d < s.directions; ++d) {
    const float* wb = from + d * 2 * rows;
    const float* rb = wb + rows;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t gate = row / s.hidden, unit = row % s.hidden;
      float& sum =
          to.bias[d * s.gates * s.padded + (unit / cols * s.gates + gate) * cols + unit % cols];
      sum = wb[row];
      if (s.split && gate == 2) {
        to.candidate_bias[d * s.padded + unit] = rb[row];
      } else {
        sum += rb[row];
      }
    }
  }
}

absl::StatusOr<Tensor> PackConstants(const NodeSpec& spec, const RecurrentAttributes& attributes,
                                     const GemmTileKernels& tiles) {
  const Tensor* w = spec.constant(1);
  const Tensor* r = spec.constant(2);
  const Tensor* bias = spec.constant(3);
  if (w == nullptr || r == nullptr || (spec.has_input(3) && bias == nullptr)) return Tensor();
  const int64_t gates = attributes.gates(), hidden = r->rank() == 3 ? r->dims()[2] : 0;
  const Dims r_dims = {attributes.directions, gates * hidden, hidden};
  if (w->rank() != 3 || DimsView(r_dims) != r->dims() ||
      DimsView(r_dims).first(2) != w->dims().first(2) ||
      (bias != nullptr && bias->dims() != DimsView({attributes.directions, 2 * gates * hidden}))) {
    return absl::InvalidArgumentError(absl::StrCat("W ", DimsString(w->dims()), ", R ",
                                                   DimsString(r->dims()), " and B do not fit"));
  }
  const WeightSizes sizes = SizesOf(attributes, tiles, hidden, w->dims()[2], bias != nullptr);
  ONWARD_ASSIGN_OR_RETURN(Tensor packed, Tensor::Create(DType::kFloat32, {sizes.all()}));
  const PackedWeights weights = sizes.In(packed.mutable_data<float>());
  PackMatrix(tiles, sizes, w->data<float>(), w->dims()[2], weights.w);
  PackMatrix(tiles, sizes, r->data<float>(), hidden, weights.r);
  if (bias != nullptr) PackBias(tiles, sizes, bias->data<float>(), weights);
  for (int i = 1; i < (bias == nullptr ? 3 : 4); ++i) spec.ReleaseConstant(i);
  return packed;
}

}  // namespace onward::kernels::cpu
