// Labels and their lines of scores, for the losses over classes and their gradient.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/bind/loss.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/lines.cuh"

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

// Scores lie `step` apart; all threads of the line get the result.
template <typename Lines, typename T>
__device__ Normalizer<ComputeType<T>> NormalizerOf(const T* x, int64_t count, int64_t step) {
  using C = ComputeType<T>;
  C top = -std::numeric_limits<C>::infinity(), sum = 0;
  for (int64_t c = Lines::index(); c < count; c += Lines::count())
    top = functors::Max()(top, Load(x[c * step]));
  top = Lines::template Combine<functors::Max>(top);
  for (int64_t c = Lines::index(); c < count; c += Lines::count())
    sum += std::exp(Load(x[c * step]) - top);
  return {top, std::log(Lines::template Combine<functors::Add>(sum))};
}

}  // namespace onward::kernels::cuda
