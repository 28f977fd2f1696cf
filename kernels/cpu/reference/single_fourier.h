// The discrete Fourier transform of complex float32 signals in float32, for lengths whose only
// prime factors are 2, 3 and 5. Factors are taken in the order of NumPy's transform, which the
// standard's reference calls: sums are rounded as its expected values are.
#pragma once

#include <complex>
#include <cstdint>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

using SingleComplex = std::complex<float>;

// Tables of one length; they live in a binding's arena.
struct SingleFourierPlan {
  static constexpr int kMaxFactors = 32;
  int64_t length = 0;
  int num_factors = 0;                      // 0: the length has other factors
  int factors[kMaxFactors] = {};            // 4, 2, 3 or 5
  const SingleComplex* twiddles = nullptr;  // exp(2 pi i k / length)
};

// `length` >= 2.
SingleFourierPlan MakeSingleFourierPlan(BindContext& context, int64_t length);

// Transforms `data` (plan.length elements) in place and multiplies it by `scale`; `inverse` says
// the sign of the exponent. `work` has plan.length elements.
void TransformSingle(const SingleFourierPlan& plan, bool inverse, float scale, SingleComplex* data,
                     SingleComplex* work);

}  // namespace onward::kernels::cpu
