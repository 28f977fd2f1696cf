// The discrete Fourier transform of any length in double: radix 2 for powers of two, Bluestein's
// chirp transform over one for the rest.
#pragma once

#include <complex>
#include <cstdint>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

using Complex = std::complex<double>;

// Tables of one length; they live in a binding's arena.
struct FourierPlan {
  int64_t length = 0;
  int64_t padded = 0;               // power of two: `length`, or at least 2 length - 1
  const Complex* roots = nullptr;   // exp(-2 pi i k / padded), k < padded / 2
  const Complex* chirp = nullptr;   // exp(-pi i k^2 / length); null for powers of two
  const Complex* kernel = nullptr;  // transform of the conjugate chirp
  int64_t work_size() const { return chirp == nullptr ? 0 : padded; }
};

// `length` >= 1.
FourierPlan MakeFourierPlan(BindContext& context, int64_t length);

// Transforms `data` (plan.length elements) in place: forward, without scaling. `work` has
// plan.work_size() elements.
void Transform(const FourierPlan& plan, Complex* data, Complex* work);

// The unscaled inverse.
void InverseTransform(const FourierPlan& plan, Complex* data, Complex* work);

}  // namespace onward::kernels::cpu
