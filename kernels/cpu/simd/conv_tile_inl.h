#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/copy_run_inl.h"

namespace onward::cpu::ONWARD_TARGET {

// A run of output pixels in one row that read one row of the image for some tap.
struct PatchRun {
  int64_t from;  // in the image
  int to;        // first lane
  int count;
};

// The runs of tap (ky, kx) for `count` pixels from `pixel`; returns how many, and in `*covered` the
// number of lanes they fill.
inline int PatchRuns(const PatchWindow& w, int64_t pixel, int count, int64_t ky, int64_t kx,
                     PatchRun* runs, int* covered) {
  int64_t oy = pixel / w.out_w, ox = pixel % w.out_w;
  int num_runs = 0;
  *covered = 0;
  for (int lane = 0; lane < count; ++oy, ox = 0) {
    const int64_t left = w.out_w - ox;
    const int length = left < count - lane ? static_cast<int>(left) : count - lane;
    const int64_t iy = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
    if (iy >= 0 && iy < w.in_h) {
      const int64_t ix = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      const int64_t first = CeilDivision(-ix, w.stride_w);
      int64_t last = CeilDivision(w.in_w - ix, w.stride_w);
      if (last > length) last = length;
      if (first < last) {
        runs[num_runs++] = {iy * w.in_w + ix + first * w.stride_w, lane + static_cast<int>(first),
                            static_cast<int>(last - first)};
        *covered += static_cast<int>(last - first);
      }
    }
    lane += length;
  }
  return num_runs;
}

inline void PackPatches(const PatchWindow& w, const float* x, int64_t pixel, int count,
                        int64_t k_begin, int64_t k_end, int width, float* packed) {
  const int64_t taps = w.kernel_h * w.kernel_w, image = w.in_h * w.in_w;
  for (int64_t tap = 0; tap < taps; ++tap) {
    // The channels whose weight of this tap lies in [k_begin, k_end).
    const int64_t c_begin = CeilDivision(k_begin - tap, taps);
    const int64_t c_end = CeilDivision(k_end - tap, taps);
    if (c_begin >= c_end) continue;
    PatchRun runs[kMaxPatchWidth];
    int covered = 0;
    const int num_runs =
        PatchRuns(w, pixel, count, tap / w.kernel_w, tap % w.kernel_w, runs, &covered);
    const bool clear = covered < width;
    for (int64_t c = c_begin; c < c_end; ++c) {
      float* to = packed + (c * taps + tap - k_begin) * width;
      const float* from = x + c * image;
      if (clear) {
        for (int i = 0; i < width; i += kLanes)
          StoreLanes(to + i, Vec{}, width - i < kLanes ? width - i : kLanes);
      }
      for (int i = 0; i < num_runs; ++i)
        CopyRun(from + runs[i].from, w.stride_w, runs[i].count, to + runs[i].to);
    }
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

const ConvTileKernels& ConvKernels() {
  static constexpr ConvTileKernels kKernels = {PackPatches, StoreTransposed};
  return kKernels;
}

}  // namespace onward::cpu::ONWARD_TARGET
