#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/patch_vec_inl.h"
#include "kernels/cpu/simd/split_channel_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

ONWARD_INLINE Vec LoadPatch(const PatchVec& vec, const float* base) {
  Vec v = Load(base + vec.pieces[0].offset);
  for (int i = 1; i < vec.num_pieces; ++i)
    v = Merge(v, vec.pieces[i].mask, base + vec.pieces[i].offset);
  return v;
}

// One panel's vectors for steps [0, steps) of one channel. What a vector writes beyond its pixels
// is overwritten by the vector or the step that follows.
ONWARD_INLINE void PackChannel(const PatchSource& source, const PatchVec* vecs, int num_vecs,
                               const float* channel, const int64_t* tap_offsets, int64_t steps,
                               int width, float* packed, const float* end) {
  for (int64_t k = 0; k < steps; ++k, packed += width) {
    const float* base = channel + tap_offsets[k];
    for (int i = 0; i < num_vecs; ++i) {
      const PatchVec& vec = vecs[i];
      float* to = packed + i * kLanes;
      // An image without slack is one row.
      const Vec v = source.has_slack || vec.lanes == kLanes
                        ? LoadPatch(vec, base)
                        : LoadN(base + vec.pieces[0].offset, vec.lanes);
      if (to + kLanes <= end) {
        Store(to, v);
      } else {
        StoreN(to, v, vec.lanes);
      }
    }
  }
}

inline void PackPatches(const PatchSource& source, int64_t pixel, int64_t count, int64_t k_begin,
                        int64_t k_end, int width, int64_t panel, float* packed) {
  PatchVecs all;
  SetPatchVecs(source, pixel, count, width, all);
  // All panels of one channel before the next channel: their pixels share cache lines.
  for (int64_t k = k_begin; k < k_end;) {
    const int64_t tap = k % source.taps;
    const float* channel = source.planes + k / source.taps * source.channel;
    const int64_t steps = source.taps - tap < k_end - k ? source.taps - tap : k_end - k;
    const PatchVec* next = all.vecs;
    for (int p = 0; p < all.num_panels; next += all.of_panel[p++]) {
      float* to = packed + p * panel;
      PackChannel(source, next, all.of_panel[p], channel, source.tap_offsets + tap, steps, width,
                  to + (k - k_begin) * width, to + (k_end - k_begin) * width);
    }
    k += steps;
  }
}

inline void StoreTransposed(const float* tile, int64_t tile_row, int rows, int cols,
                            const float* residual, const ActivationSpec& activation, float* y,
                            int64_t y_row) {
  WithActivation(activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    for (int c0 = 0; c0 < cols; c0 += kLanes) {
      const int lanes = cols - c0 < kLanes ? cols - c0 : kLanes;
      for (int r0 = 0; r0 < rows; r0 += kLanes) {
        const int n = rows - r0 < kLanes ? rows - r0 : kLanes;
        Vec block[kLanes];
        LoadTransposed(tile + r0 * tile_row + c0, tile_row, n, lanes, block);
        for (int c = 0; c < lanes; ++c) {
          const int64_t at = (c0 + c) * y_row + r0;
          Vec sum = block[c];
          if (residual != nullptr) sum += LoadLanes(residual + at, n);
          StoreLanes(y + at, f(sum), n);
        }
      }
    }
  });
}

const ConvTileKernels& ConvTiles() {
  static constexpr ConvTileKernels kKernels = {SplitChannel, PackPatches, StoreTransposed};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
