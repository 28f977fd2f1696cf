// Det: by LU decomposition with partial pivoting, in double.
#include "kernels/cpu/reference/square_matrices.h"

namespace onward::kernels::cpu {
namespace {

// Destroys `a` (n x n).
double Determinant(double* a, int64_t n) {
  double result = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + (pivot + 1) * n, a + column * n);
      result = -result;
    }
    const double head = a[column * n + column];
    result *= head;
    if (head == 0) return result;
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / head;
      for (int64_t k = column + 1; k < n; ++k) a[row * n + k] -= factor * a[column * n + k];
    }
  }
  return result;
}

template <typename T>
void RunDet(const void* in, void* out, int64_t index, int64_t n, double* work) {
  const T* x = static_cast<const T*>(in) + index * n * n;
  for (int64_t i = 0; i < n * n; ++i)
    work[i] = static_cast<double>(static_cast<ComputeType<T>>(x[i]));
  static_cast<T*>(out)[index] = static_cast<T>(static_cast<ComputeType<T>>(Determinant(work, n)));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDet(const NodeSpec& spec) {
  MatrixLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunDet<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<SquareMatrices>(loop, MatrixGives::kElement, 1);
}

constexpr KernelEntry kKernels[] = {
    {"", "Det", "det_reference", MakeDet},
};

}  // namespace

KernelList ReferenceDet() { return kKernels; }

}  // namespace onward::kernels::cpu
