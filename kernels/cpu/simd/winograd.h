// Convolutions of 3x3 taps by Winograd's minimal filtering (Lavin and Gray 2016,
// arXiv:1509.09308): an output tile of m x m pixels takes (m + 2)^2 products a channel instead of
// 9 m^2. Per frequency f of (m + 2)^2, the products are matrices: M_f = U_f V_f, where U is the
// transformed filters and V the transformed windows.
//
// The polynomials' points are 0, 1, -1, infinity for m = 2 and 0, 3/4, -3/4, 3/2, -3/2, infinity
// for m = 4: half the rounding error of the usual 0, 1, -1, 2, -2, infinity.
#pragma once

#include <cstdint>

#include "kernels/activation_spec.h"
#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

inline constexpr int64_t kMaxWinogradWindow = 6;
inline constexpr int64_t kMaxWinogradFrequencies = kMaxWinogradWindow * kMaxWinogradWindow;

inline constexpr int kMaxWinogradTiles = 32;

// One channel's windows of a run of tiles that lie in one row.
struct WinogradWindows {
  const float* x = nullptr;  // the channel
  int64_t in_h = 1, in_w = 1;
  int64_t top = 0, left = 0;  // of the first window; may lie outside, where the image is zero
  int tiles = 0;              // at most kMaxWinogradTiles
  float* v = nullptr;         // frequency f of tile j goes to v[f * step + j]
  int64_t step = 0;
};

// The products of one filter and a run of tiles, row by row, and where their pixels go.
struct WinogradTiles {
  const float* products = nullptr;  // of frequency f at products + f * step
  int64_t step = 0;
  int64_t first = 0;  // tile
  int tiles = 0;      // at most kMaxWinogradTiles
  int64_t tiles_w = 1;
  int64_t out_h = 1, out_w = 1;
  float bias = 0;
  const float* residual = nullptr;  // as y, or null
  ActivationSpec activation;
  float* y = nullptr;  // the plane of the filter
};

// The filters of one channel, of 3 x 3 taps each.
struct WinogradFilters {
  const float* w = nullptr;  // taps of filter r at w[r * filter_step + tap]
  int64_t filter_step = 9;
  int filters = 0;
  bool reversed = false;  // the last tap of a filter is the first one
  float* u = nullptr;     // frequency f of filter r goes to u[f * step + r]
  int64_t step = 0;
};

// Sums per frequency of one filter, and where its taps go: the transpose of transform_filters.
struct WinogradTapSums {
  const float* u = nullptr;  // frequency f of channel c at u[f * step + c]
  int64_t step = 0;
  int channels = 0;
  float* w = nullptr;  // taps of channel c go to w[9 * c + tap]
};

struct WinogradKernels {
  void (*transform_filters)(const WinogradFilters& filters);
  void (*transform_windows)(const WinogradWindows& windows);
  void (*store_tiles)(const WinogradTiles& tiles);
  // The gradient by filters has the transposes of store_tiles and of transform_filters. Pixels of
  // tiles, which do not overlap, take the place of windows.
  void (*transform_pixels)(const WinogradWindows& tiles);
  void (*store_taps)(const WinogradTapSums& sums);
};

// For output tiles of 2 x 2 and of 4 x 4 pixels.
ONWARD_PER_TARGET(kVectorLoops, const WinogradKernels&, Winograd2, ())
ONWARD_PER_TARGET(kVectorLoops, const WinogradKernels&, Winograd4, ())

// u[f] = frequency f of the filter g[9], for f < (m + 2)^2, computed in double.
void TransformFilter(int64_t m, const float* g, float* u);

}  // namespace onward::kernels::cpu
