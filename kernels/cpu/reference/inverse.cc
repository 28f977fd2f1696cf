// com.microsoft.Inverse of square matrices: by Gauss-Jordan elimination with partial pivoting, in
// double. A matrix without an inverse gives infinities or NaN.
#include <algorithm>
#include <cmath>

#include "graph/ops/onward_schemas.h"
#include "kernels/cpu/reference/square_matrices.h"

namespace onward::kernels::cpu {
namespace {

// Turns `a` into the unit matrix and the unit matrix `b` into its inverse; both n x n.
void Eliminate(double* a, double* b, int64_t n) {
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + (pivot + 1) * n, a + column * n);
      std::swap_ranges(b + pivot * n, b + (pivot + 1) * n, b + column * n);
    }
    const double head = a[column * n + column];
    for (int64_t k = 0; k < n; ++k) {
      a[column * n + k] /= head;
      b[column * n + k] /= head;
    }
    for (int64_t row = 0; row < n; ++row) {
      const double factor = a[row * n + column];
      if (row == column || factor == 0) continue;
      for (int64_t k = 0; k < n; ++k) {
        a[row * n + k] -= factor * a[column * n + k];
        b[row * n + k] -= factor * b[column * n + k];
      }
    }
  }
}

// One matrix; `work` has room for two.
template <typename T>
void InvertOne(const void* in, void* out, int64_t index, int64_t n, double* work) {
  const T* x = static_cast<const T*>(in) + index * n * n;
  T* y = static_cast<T*>(out) + index * n * n;
  double* b = work + n * n;
  for (int64_t i = 0; i < n * n; ++i) {
    work[i] = static_cast<double>(static_cast<ComputeType<T>>(x[i]));
    b[i] = i % (n + 1) == 0 ? 1 : 0;
  }
  Eliminate(work, b, n);
  for (int64_t i = 0; i < n * n; ++i) y[i] = static_cast<T>(static_cast<ComputeType<T>>(b[i]));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeInverse(const NodeSpec& spec) {
  MatrixLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = InvertOne<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<SquareMatrices>(loop, MatrixGives::kMatrix, 2);
}

constexpr KernelEntry kKernels[] = {
    {kMicrosoftDomain, "Inverse", "inverse_reference", MakeInverse},
};

}  // namespace

KernelList ReferenceInverse() { return kKernels; }

}  // namespace onward::kernels::cpu
