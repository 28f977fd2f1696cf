// The weights of RNN, GRU and LSTM packed so that the gates of a block of units stand side by side:
// [direction][block][gate][unit].
#pragma once

#include "kernels/bind/recurrent.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/simd/gemm_tile.h"

namespace onward::kernels::cpu {

// Panels of tile_cols columns. Biases are null where there are none.
struct PackedWeights {
  float *w = nullptr, *r = nullptr;
  float* bias = nullptr;            // added to X's part
  float* candidate_bias = nullptr;  // GRU, linear before reset: added to H's part of the candidate
};

// The numbers of their floats.
struct WeightSizes {
  int64_t directions, gates, hidden, input, padded;
  int64_t k_per_word;
  bool has_bias, split;  // split: with candidate_bias

  int64_t columns() const { return directions * gates * padded; }
  int64_t words(int64_t k) const { return CeilDiv(k, k_per_word); }
  int64_t w() const { return columns() * words(input); }
  int64_t r() const { return columns() * words(hidden); }
  int64_t bias() const { return has_bias ? columns() : 0; }
  int64_t candidate_bias() const { return has_bias && split ? directions * padded : 0; }
  int64_t all() const { return w() + r() + bias() + candidate_bias(); }

  PackedWeights In(float* memory) const {
    PackedWeights weights;
    weights.w = memory;
    weights.r = weights.w + w();
    if (has_bias) weights.bias = weights.r + r();
    if (has_bias && split) weights.candidate_bias = weights.bias + bias();
    return weights;
  }
};

WeightSizes SizesOf(const RecurrentAttributes& a, const GemmTileKernels& tiles, int64_t hidden,
                    int64_t input, bool has_bias);

// Panel `panel` of W or R, [directions][gates * hidden][k], of columns() / tile_cols ones: units
// beyond the hidden ones are zeros.
void PackPanel(const GemmTileKernels& tiles, const WeightSizes& s, const float* from, int64_t k,
               int64_t panel, float* to);
void PackMatrix(const GemmTileKernels& tiles, const WeightSizes& s, const float* from, int64_t k,
                float* to);
// B, [directions][Wb of all gates, Rb of all gates].
void PackBias(const GemmTileKernels& tiles, const WeightSizes& s, const float* from,
              const PackedWeights& to);

// W, R and B of a node, packed, where all of them are constants, which are then released; else an
// empty tensor. InvalidArgument: their shapes do not fit one another.
absl::StatusOr<Tensor> PackConstants(const NodeSpec& spec, const RecurrentAttributes& attributes,
                                     const GemmTileKernels& tiles);

}  // namespace onward::kernels::cpu
