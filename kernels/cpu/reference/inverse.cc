// com.microsoft.Inverse of square matrices: by Gauss-Jordan elimination with partial pivoting, in
// double. A matrix without an inverse gives infinities or NaN.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {
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

using InvertLoop = void (*)(const void* in, void* out, int64_t index, int64_t n, double* work);

class Inverse : public Kernel {
 public:
  explicit Inverse(InvertLoop loop) : loop_(loop) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const size_t rank = dims.size();
    if (rank < 2 || dims[rank - 1] != dims[rank - 2]) {
      return absl::InvalidArgumentError(
          absl::StrCat("input has shape ", DimsString(dims), ", must be square matrices"));
    }
    context.SetOutput(0, dims);
    context.SetScratch(2 * dims[rank - 1] * dims[rank - 1] * static_cast<int64_t>(sizeof(double)) *
                       context.num_workers());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const int64_t n = in.dim(in.rank() - 1);
    if (n == 0) return absl::OkStatus();
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / (n * n * n));
    context.ParallelForWorkers(in.num_elements() / (n * n), grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 double* work = context.scratch<double>() + worker * 2 * n * n;
                                 for (int64_t i = begin; i < end; ++i)
                                   loop_(in.data, context.output(0).data, i, n, work);
                               });
    return absl::OkStatus();
  }

 private:
  InvertLoop loop_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeInverse(const NodeSpec& spec) {
  InvertLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = InvertOne<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Inverse>(loop);
}

constexpr KernelEntry kKernels[] = {
    {kMicrosoftDomain, "Inverse", "inverse_reference", MakeInverse},
};

}  // namespace

KernelList ReferenceInverse() { return kKernels; }

}  // namespace onward::cpu
