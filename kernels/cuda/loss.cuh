// Labels and their lines of scores, for the losses over classes and their gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/bind/loss.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {

// The scores of a label are a line.
inline AxisSplit SplitOf(const LossPlan& plan) {
  return {plan.batch, plan.classes, plan.positions};
}

struct Labels {
  const void* data;
  bool wide;  // int64, else int32

  explicit Labels(const TensorView& view) : data(view.data), wide(view.dtype == DType::kInt64) {}
  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// The largest score of a label and the logarithm of the sum of exp(score - largest).
template <typename C>
struct Normalizer {
  C top, log_sum;
};

// The elements of a line of neighbours that packs of kPack take: [begin, end), of `count`. None
// where the elements themselves are not aligned.
template <int kPack>
struct PackedPart {
  int64_t begin, end;

  template <typename T>
  __device__ PackedPart(const T* x, int64_t count) {
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % kPack);
    begin = std::min(count, (kPack - past) % kPack);
    end = begin + (count - begin) / kPack * kPack;
  }
};

// The sum of exp(score - top) over the scores so far: Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018.
template <typename C>
struct OnlineSum {
  C top = -std::numeric_limits<C>::infinity(), sum = 0;

  template <int kCount>
  __device__ void Take(const C (&scores)[kCount]) {
    C higher = top;
#pragma unroll
    for (int k = 0; k < kCount; ++k) higher = functors::Max()(higher, scores[k]);
    if (higher == -std::numeric_limits<C>::infinity()) return;
    sum *= std::exp(top - higher);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum += std::exp(scores[k] - higher);
    top = higher;
  }
};

// Scores lie `step` apart and are read once; all threads of the line get the result.
template <typename Lines, typename T>
__device__ Normalizer<ComputeType<T>> NormalizerOf(const T* x, int64_t count, int64_t step) {
  using C = ComputeType<T>;
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  OnlineSum<C> online;
  if constexpr (Lines::kNeighbours) {
    constexpr int kPack = kPackOf<T>, kAtOnce = 2;
    const PackedPart<kPack> packed(x, count);
    const int64_t edges = packed.begin + count - packed.end;
    for (int64_t i = Lines::index(); i < edges; i += Lines::count())
      online.Take({Load(x[i < packed.begin ? i : i - packed.begin + packed.end])});
    const int64_t stride = static_cast<int64_t>(kPack) * Lines::count();
    for (int64_t c = packed.begin + kPack * Lines::index(); c < packed.end; c += kAtOnce * stride) {
      C scores[kAtOnce * kPack];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const bool inside = c + k * stride < packed.end;
        const Pack<T, kPack> pack = LoadPack<kPack>(x + (inside ? c + k * stride : c));
        for (int e = 0; e < kPack; ++e)
          scores[k * kPack + e] = inside ? Load(pack.elements[e]) : kNone;
      }
      online.Take(scores);
    }
  } else {
    for (int64_t c = Lines::index(); c < count; c += Lines::count())
      online.Take({Load(x[c * step])});
  }
  const C highest = Lines::template Combine<functors::Max>(online.top);
  if (online.top != highest) online.sum *= std::exp(online.top - highest);
  return {highest, std::log(Lines::template Combine<functors::Add>(online.sum))};
}

}  // namespace onward::kernels::cuda
