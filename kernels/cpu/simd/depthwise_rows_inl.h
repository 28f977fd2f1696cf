#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/depthwise_rows.h"
#include "kernels/cpu/simd/split_channel_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <int kVecs>
using RowVecs = Vec[kVecs];

// Sums are stored between these bounds, which are those of the common activations.
struct Bounds {
  Vec low, high;
};

// The last vector has `last` lanes.
template <int kVecs>
ONWARD_INLINE void StoreOutputs(const RowVecs<kVecs>& sums, const Bounds& bounds, int last,
                                float* y) {
  ONWARD_UNROLL
  for (int i = 0; i < kVecs; ++i) {
    const Vec v = Min(bounds.high, Max(bounds.low, sums[i]));
    i + 1 < kVecs ? Store(y + i * kLanes, v) : StoreLanes(y + i * kLanes, v, last);
  }
}

template <int kVecs>
ONWARD_INLINE void LoadInputs(const float* from, RowVecs<kVecs>& in) {
  ONWARD_UNROLL
  for (int i = 0; i < kVecs; ++i) in[i] = Load(from + i * kLanes);
}

template <int kVecs>
ONWARD_INLINE void AddTap(Vec weight, const RowVecs<kVecs>& in, RowVecs<kVecs>& sums) {
  ONWARD_UNROLL
  for (int i = 0; i < kVecs; ++i) sums[i] = Fma(weight, in[i], sums[i]);
}

// kVecs vectors of outputs down all rows of a band. kTaps: of the window's rows and of its columns;
// 0 stands for any numbers.
template <int kTaps, int kVecs>
struct RowStrip {
  static constexpr bool kHoldsWeights = kTaps == 3 && kRegisters == 32;

  const DepthwiseRowsBand& band;
  const Vec bias = Set(band.bias);
  Vec weights[kHoldsWeights ? kTaps * kTaps : 1];

  ONWARD_INLINE explicit RowStrip(const DepthwiseRowsBand& of) : band(of) {
    for (int t = 0; kHoldsWeights && t < kTaps * kTaps; ++t) weights[t] = Set(band.w[t]);
  }
  ONWARD_INLINE Vec WeightAt(int64_t tap) const {
    return kHoldsWeights ? weights[tap] : Set(band.w[tap]);
  }
  ONWARD_INLINE int64_t Height() const { return kTaps > 0 ? kTaps : band.window.kernel_h; }
  ONWARD_INLINE int64_t Width() const { return kTaps > 0 ? kTaps : band.window.kernel_w; }

  // `in`: what a tap with offset 0 reads for the first output of a row.
  ONWARD_INLINE void SumOne(const float* in, RowVecs<kVecs>& sums) const {
    ONWARD_UNROLL
    for (int i = 0; i < kVecs; ++i) sums[i] = bias;
    RowVecs<kVecs> values;
    for (int64_t t = 0; t < Height() * Width(); ++t) {
      LoadInputs<kVecs>(in + band.tap_offsets[t], values);
      AddTap<kVecs>(WeightAt(t), values, sums);
    }
  }
  // Adds one row of inputs to the sums of outputs [kFirst, kEnd), of which output r meets it as row
  // `row` - r of the window.
  template <int kFirst, int kEnd, int kRows>
  ONWARD_INLINE void AddInputRow(const float* in, int64_t row,
                                 RowVecs<kVecs> (&sums)[kRows]) const {
    for (int64_t t = 0; t < Width(); ++t) {
      RowVecs<kVecs> values;
      LoadInputs<kVecs>(in + band.tap_offsets[t], values);
      ONWARD_UNROLL
      for (int r = kFirst; r < kEnd; ++r)
        AddTap<kVecs>(WeightAt((row - r) * Width() + t), values, sums[r]);
    }
  }
  // kRows rows that read one row of `width` floats further down each: what several read is loaded
  // once. The dilation of rows is 1, and there are kRows - 1 taps down at least.
  template <int... kRow>
  ONWARD_INLINE void SumRows(const float* in, int64_t width,
                             RowVecs<kVecs> (&sums)[sizeof...(kRow)],
                             std::integer_sequence<int, kRow...>) const {
    constexpr int kRows = sizeof...(kRow);
    for (RowVecs<kVecs>& sum : sums)
      for (Vec& v : sum) v = bias;
    int64_t row = 0;
    const auto next = [&] { return in + row++ * width; };
    // The first rows reach few of the outputs, and so do the last ones.
    ((kRow + 1 < kRows ? AddInputRow<0, kRow + 1>(next(), kRow, sums) : void()), ...);
    while (row < Height()) {
      const int64_t at = row;
      AddInputRow<0, kRows>(next(), at, sums);
    }
    ((kRow + 1 < kRows ? AddInputRow<kRow + 1, kRows>(next(), Height() + kRow, sums) : void()),
     ...);
  }
};

// As many rows at a time as their sums leave registers for the inputs.
template <int kTaps, int kVecs>
inline constexpr int kRowsAtOnce = kTaps != 3 && kTaps != 0 && kRegisters == 32 ? 4 : 2;

template <int kTaps, int kVecs>
void RunStrip(const DepthwiseRowsBand& band, const Bounds& bounds, const float* in, int last,
              float* y) {
  const PatchWindow& w = band.window;
  const int64_t width = PlaneWidth(w);
  const RowStrip<kTaps, kVecs> strip(band);
  int64_t row = 0;
  const auto run = [&]<int kRows>(std::integral_constant<int, kRows>) ONWARD_LAMBDA_INLINE {
    if (w.dilation_h != 1) return;
    RowVecs<kVecs> sums[kRows];
    for (; row + kRows <= band.rows; row += kRows, in += kRows * width) {
      strip.SumRows(in, width, sums, std::make_integer_sequence<int, kRows>());
      for (int r = 0; r < kRows; ++r, y += w.out_w) StoreOutputs<kVecs>(sums[r], bounds, last, y);
    }
  };
  constexpr int kMostRows = kRowsAtOnce<kTaps, kVecs>;
  if constexpr (kMostRows > 2) run(std::integral_constant<int, kMostRows>());
  run(std::integral_constant<int, 2>());
  for (; row < band.rows; ++row, in += width, y += w.out_w) {
    RowVecs<kVecs> sums;
    strip.SumOne(in, sums);
    StoreOutputs<kVecs>(sums, bounds, last, y);
  }
}

using RowsFunction = void (*)(const DepthwiseRowsBand&, const Bounds&, const float*, int, float*);

template <int kTaps>
void RunStrips(const DepthwiseRowsBand& band, const Bounds& bounds, const float* in) {
  constexpr RowsFunction kOf[] = {RunStrip<kTaps, 1>, RunStrip<kTaps, 2>, RunStrip<kTaps, 3>,
                                  RunStrip<kTaps, 4>};
  constexpr int64_t kMost = 4 * kLanes;
  for (int64_t x = 0; x < band.window.out_w; x += kMost) {
    const int64_t left = band.window.out_w - x, count = left < kMost ? left : kMost;
    const int last = static_cast<int>((count - 1) % kLanes) + 1;
    kOf[(count - 1) / kLanes](band, bounds, in + x, last, band.y + x);
  }
}

// Returns whether bounds are all that is left to do with the sums.
inline bool SetBounds(const DepthwiseRowsBand& band, Bounds& bounds) {
  const float infinity = __builtin_inff();
  bounds = {Set(-infinity), Set(infinity)};
  const ActivationSpec& activation = band.activation;
  if (activation.kind == Activation::kNone) return band.residual == nullptr;
  if (band.residual != nullptr) return false;
  if (activation.kind == Activation::kRelu) bounds.low = Vec{};
  if (activation.kind == Activation::kClip) bounds = {Set(activation.alpha), Set(activation.beta)};
  return activation.kind == Activation::kRelu || activation.kind == Activation::kClip;
}

// The sums lie in y, in the first-level cache.
inline void FinishBand(const DepthwiseRowsBand& band) {
  const int64_t count = band.rows * band.window.out_w;
  WithActivation(band.activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    for (int64_t i = 0; i < count; i += kLanes) {
      const int n = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
      Vec sum = LoadLanes(band.y + i, n);
      if (band.residual != nullptr) sum += LoadLanes(band.residual + i, n);
      StoreLanes(band.y + i, f(sum), n);
    }
  });
}

inline void RunRowsBand(const DepthwiseRowsBand& band, float* scratch) {
  const PatchWindow& w = band.window;
  // The last vector of a row reads beyond it: what scratch held before could be denormal, and slow.
  FillZero(scratch + ChannelPlanes(w), kPatchSlack);
  SplitChannel(w, band.x, scratch);
  Bounds bounds;
  const bool finished = SetBounds(band, bounds);
  if (w.kernel_h == 3 && w.kernel_w == 3) {
    RunStrips<3>(band, bounds, scratch);
  } else if (w.kernel_h == 5 && w.kernel_w == 5) {
    RunStrips<5>(band, bounds, scratch);
  } else if (w.kernel_h == 7 && w.kernel_w == 7) {
    RunStrips<7>(band, bounds, scratch);
  } else {
    RunStrips<0>(band, bounds, scratch);
  }
  if (!finished) FinishBand(band);
}

const DepthwiseRowsKernels& DepthwiseRows() {
  static constexpr DepthwiseRowsKernels kKernels = {kLanes, RunRowsBand};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
