#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/depthwise_tile.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

ONWARD_INLINE void FillZeroVecs(float* p, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Store(p + i * kLanes, Vec{});
}

// Weights of the band's filters as [taps][lanes].
inline void GatherWeights(const DepthwiseBand& band, float* to) {
  const int64_t taps = band.window.taps();
  for (int64_t t = 0; t < taps; t += kLanes) {
    const int n = taps - t < kLanes ? static_cast<int>(taps - t) : kLanes;
    Vec block[kLanes];
    LoadTransposed(band.w + band.filter * taps + t, taps, band.filters, n, block);
    for (int i = 0; i < n; ++i) Store(to + (t + i) * kLanes, block[i]);
  }
}

// `n` pixels from `pixel` of the channels that the band's filters read, transposed.
ONWARD_INLINE void LoadPixels(const DepthwiseBand& band, int64_t pixel, int n,
                              Vec (&block)[kLanes]) {
  const int64_t image = band.window.in_h * band.window.in_w;
  if (band.filters_per_channel == 1) {
    return LoadTransposed(band.x + band.filter * image + pixel, image, band.filters, n, block);
  }
  for (int r = 0; r < kLanes; ++r) {
    const int64_t channel = (band.filter + r) / band.filters_per_channel;
    block[r] = r < band.filters ? LoadLanes(band.x + channel * image + pixel, n) : Vec{};
  }
  Transpose(block);
}

// Columns of an image row that the padded row shows, and where.
struct VisibleColumns {
  int64_t begin, end;  // in the image
  int64_t at;          // of `begin` in the padded row
};
inline VisibleColumns ColumnsOf(const PatchWindow& w, int64_t width) {
  const int64_t begin = w.pad_left < 0 ? -w.pad_left : 0;
  int64_t end = width - w.pad_left;
  if (end > w.in_w) end = w.in_w;
  return {begin, end < begin ? begin : end, begin + w.pad_left};
}

// Copies image rows [first, last) to the padded rows, which start at image row `top`.
inline void CopyRows(const DepthwiseBand& band, int64_t top, int64_t first, int64_t last,
                     int64_t width, float* padded) {
  const PatchWindow& w = band.window;
  const VisibleColumns columns = ColumnsOf(w, width);
  int64_t row = first, column = 0;
  for (int64_t pixel = first * w.in_w; pixel < last * w.in_w; pixel += kLanes) {
    const int64_t left = last * w.in_w - pixel;
    const int n = left < kLanes ? static_cast<int>(left) : kLanes;
    Vec block[kLanes];
    LoadPixels(band, pixel, n, block);
    for (int i = 0; i < n; ++i) {
      if (column >= columns.begin && column < columns.end)
        Store(padded + ((row - top) * width + column + w.pad_left) * kLanes, block[i]);
      if (++column == w.in_w) column = 0, ++row;
    }
  }
  for (int64_t r = first; r < last; ++r) {
    float* to = padded + (r - top) * width * kLanes;
    const int64_t after = columns.at + columns.end - columns.begin;
    FillZeroVecs(to, columns.at < width ? columns.at : width);
    if (after < width) FillZeroVecs(to + after * kLanes, width - after);
  }
}

inline void CopyPaddedRows(const DepthwiseBand& band, int64_t rows, int64_t width, float* padded) {
  const PatchWindow& w = band.window;
  const int64_t top = band.row_begin * w.stride_h - w.pad_top;  // the image row of padded row 0
  int64_t first = top < 0 ? 0 : top, last = top + rows < w.in_h ? top + rows : w.in_h;
  if (last < first) first = last = top + rows < 0 ? top + rows : first;
  if (first >= last) return FillZeroVecs(padded, rows * width);
  FillZeroVecs(padded, (first - top) * width);
  CopyRows(band, top, first, last, width, padded);
  FillZeroVecs(padded + (last - top) * width * kLanes, (top + rows - last) * width);
}

// kCount neighbouring outputs; `in`: the first tap of the first one.
template <int kCount>
ONWARD_INLINE void SumTaps(const PatchWindow& w, const float* weights, const float* in,
                           int64_t width, Vec start, float* to) {
  Vec sum[kCount];
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) sum[i] = start;
  const int64_t step = w.stride_w * kLanes;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const float* row = in + ky * w.dilation_h * width * kLanes;
    for (int64_t kx = 0; kx < w.kernel_w; ++kx, weights += kLanes) {
      const Vec weight = Load(weights);
      const float* from = row + kx * w.dilation_w * kLanes;
      ONWARD_UNROLL
      for (int i = 0; i < kCount; ++i) sum[i] = Fma(weight, Load(from + i * step), sum[i]);
    }
  }
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) Store(to + i * kLanes, sum[i]);
}

inline void SumRow(const PatchWindow& w, const float* weights, const float* in, int64_t width,
                   Vec start, float* to) {
  int64_t x = 0;
  const auto at = [&](int64_t column) { return in + column * w.stride_w * kLanes; };
  for (; x + 8 <= w.out_w; x += 8) SumTaps<8>(w, weights, at(x), width, start, to + x * kLanes);
  if (x + 4 <= w.out_w) {
    SumTaps<4>(w, weights, at(x), width, start, to + x * kLanes);
    x += 4;
  }
  switch (w.out_w - x) {
    case 3:
      return SumTaps<3>(w, weights, at(x), width, start, to + x * kLanes);
    case 2:
      return SumTaps<2>(w, weights, at(x), width, start, to + x * kLanes);
    case 1:
      return SumTaps<1>(w, weights, at(x), width, start, to + x * kLanes);
    default:
      return;
  }
}

inline void StoreBand(const DepthwiseBand& band, const float* sums) {
  const PatchWindow& w = band.window;
  const int64_t image = w.out_h * w.out_w, first = band.row_begin * w.out_w;
  const int64_t count = (band.row_end - band.row_begin) * w.out_w;
  WithActivation(band.activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    for (int64_t p = 0; p < count; p += kLanes) {
      const int n = count - p < kLanes ? static_cast<int>(count - p) : kLanes;
      Vec block[kLanes];
      LoadTransposed(sums + p * kLanes, kLanes, n, kLanes, block);
      for (int r = 0; r < band.filters; ++r) {
        const int64_t at = (band.filter + r) * image + first + p;
        Vec sum = block[r];
        if (band.residual != nullptr) sum += LoadLanes(band.residual + at, n);
        StoreLanes(band.y + at, f(sum), n);
      }
    }
  });
}

// With the band's weights at the begin of `scratch`.
inline void RunBand(const DepthwiseBand& band, float* scratch) {
  const PatchWindow& w = band.window;
  const int64_t rows = band.row_end - band.row_begin;
  const int64_t width = PaddedWidth(w), padded_rows = PaddedRows(w, rows);
  float* padded = scratch + w.taps() * kLanes;
  float* sums = padded + padded_rows * width * kLanes;
  CopyPaddedRows(band, padded_rows, width, padded);
  const Vec start = band.bias == nullptr ? Vec{} : LoadLanes(band.bias + band.filter, band.filters);
  for (int64_t row = 0; row < rows; ++row) {
    SumRow(w, scratch, padded + row * w.stride_h * width * kLanes, width, start,
           sums + row * w.out_w * kLanes);
  }
  StoreBand(band, sums);
}

inline void RunDepthwise(const DepthwiseBand& band, float* scratch) {
  GatherWeights(band, scratch);
  RunBand(band, scratch);
}

// Rows [begin, end) of dY as [row][out_w][lanes].
inline void CopyGradientRows(const DepthwiseGradientBand& band, int64_t begin, int64_t end,
                             float* to) {
  const PatchWindow& w = band.window;
  DepthwiseBand rows;
  rows.window.in_h = w.out_h, rows.window.in_w = w.out_w;
  rows.x = band.dy, rows.filter = band.filter, rows.filters = band.filters;
  rows.row_begin = begin;
  CopyPaddedRows(rows, end - begin, w.out_w, to);
}

// For each column that stays inside an image row of `w.in_w`: sums[column * stride + shift] gets
// row[column] * weight.
inline void SpreadRow(const PatchWindow& w, int64_t shift, const float* row, Vec weight,
                      float* sums) {
  const int64_t s = w.stride_w;
  const int64_t begin = shift < 0 ? (s - 1 - shift) / s : 0;
  int64_t end = shift < w.in_w ? (w.in_w - 1 - shift) / s + 1 : 0;
  if (end > w.out_w) end = w.out_w;
  for (int64_t column = begin; column < end; ++column) {
    float* to = sums + (column * s + shift) * kLanes;
    Store(to, Fma(Load(row + column * kLanes), weight, Load(to)));
  }
}

// The image of a convolution of dY with the weights in opposite order, for strides of 1.
inline void SpreadUnstrided(DepthwiseBand out, const DepthwiseGradientBand& band, float* scratch) {
  out.window = SpreadWindow(band.window);
  out.x = band.dy;
  const int64_t taps = out.window.taps();
  for (int64_t tap = 0; tap < taps / 2; ++tap) {
    float *a = scratch + tap * kLanes, *b = scratch + (taps - 1 - tap) * kLanes;
    const Vec weight = Load(a);
    Store(a, Load(b));
    Store(b, weight);
  }
  RunBand(out, scratch);
}

inline void Spread(const DepthwiseGradientBand& band, float* scratch) {
  const PatchWindow& w = band.window;
  DepthwiseBand out;  // of the image, stored as the outputs of a convolution are
  out.window = w;
  out.window.out_h = w.in_h, out.window.out_w = w.in_w;
  out.filter = band.filter, out.filters = band.filters, out.w = band.w, out.bias = band.bias;
  out.row_begin = band.row_begin, out.row_end = band.row_end, out.y = band.dx;
  GatherWeights(out, scratch);
  if (w.stride_h == 1 && w.stride_w == 1) return SpreadUnstrided(out, band, scratch);
  // The rows of dY that reach the band.
  const int64_t lowest = band.row_begin + w.pad_top - (w.kernel_h - 1) * w.dilation_h;
  const int64_t highest = band.row_end - 1 + w.pad_top;
  const int64_t first = lowest <= 0 ? 0 : (lowest + w.stride_h - 1) / w.stride_h;
  const int64_t reached = highest < 0 ? 0 : highest / w.stride_h + 1;
  const int64_t last = reached < w.out_h ? reached : w.out_h;
  float* rows = scratch + w.taps() * kLanes;
  float* sums = rows + SpreadRows(w, band.row_end - band.row_begin) * w.out_w * kLanes;
  if (first < last) CopyGradientRows(band, first, last, rows);
  const Vec start = band.bias == nullptr ? Vec{} : LoadLanes(band.bias + band.filter, band.filters);
  for (int64_t i = 0; i < (band.row_end - band.row_begin) * w.in_w; ++i)
    Store(sums + i * kLanes, start);
  for (int64_t row = first; row < last; ++row) {
    for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
      const int64_t to = row * w.stride_h + ky * w.dilation_h - w.pad_top;
      if (to < band.row_begin || to >= band.row_end) continue;
      for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
        SpreadRow(w, kx * w.dilation_w - w.pad_left, rows + (row - first) * w.out_w * kLanes,
                  Load(scratch + (ky * w.kernel_w + kx) * kLanes),
                  sums + (to - band.row_begin) * w.in_w * kLanes);
      }
    }
  }
  StoreBand(out, sums);
}

// kCount neighbouring taps of one row; `in`: what the first tap of the first output reads.
template <int kCount>
ONWARD_INLINE void SumTapProducts(const PatchWindow& w, const float* in, const float* dy,
                                  double* totals) {
  Vec sum[kCount] = {};
  const int64_t step = w.stride_w * kLanes, tap = w.dilation_w * kLanes;
  for (int64_t column = 0; column < w.out_w; ++column) {
    const Vec d = Load(dy + column * kLanes);
    ONWARD_UNROLL
    for (int i = 0; i < kCount; ++i) sum[i] = Fma(d, Load(in + column * step + i * tap), sum[i]);
  }
  ONWARD_UNROLL
  for (int i = 0; i < kCount; ++i) {
    for (int lane = 0; lane < kLanes; ++lane)
      totals[i * kLanes + lane] += static_cast<double>(sum[i][lane]);
  }
}

inline void SumRowProducts(const PatchWindow& w, const float* in, const float* dy, double* totals) {
  for (int64_t kx = 0; kx < w.kernel_w; kx += 4, totals += 4 * kLanes) {
    const float* from = in + kx * w.dilation_w * kLanes;
    switch (w.kernel_w - kx) {
      case 1:
        SumTapProducts<1>(w, from, dy, totals);
        break;
      case 2:
        SumTapProducts<2>(w, from, dy, totals);
        break;
      case 3:
        SumTapProducts<3>(w, from, dy, totals);
        break;
      default:
        SumTapProducts<4>(w, from, dy, totals);
    }
  }
}

inline void SumProducts(const DepthwiseGradientBand& band, float* scratch) {
  const PatchWindow& w = band.window;
  const int64_t rows = band.row_end - band.row_begin;
  const int64_t width = PaddedWidth(w), padded_rows = PaddedRows(w, rows);
  DepthwiseBand image;
  image.window = w;
  image.x = band.x, image.filter = band.filter, image.filters = band.filters;
  image.row_begin = band.row_begin;
  CopyPaddedRows(image, padded_rows, width, scratch);
  float* dy = scratch + padded_rows * width * kLanes;
  CopyGradientRows(band, band.row_begin, band.row_end, dy);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
      SumRowProducts(w, scratch + (row * w.stride_h + ky * w.dilation_h) * width * kLanes,
                     dy + row * w.out_w * kLanes, band.totals + ky * w.kernel_w * kLanes);
    }
  }
}

const DepthwiseKernels& Depthwise() {
  static constexpr DepthwiseKernels kKernels = {kLanes, RunDepthwise, Spread, SumProducts};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
