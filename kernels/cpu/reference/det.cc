// Det: by LU decomposition with partial pivoting, in double.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {
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

using DetLoop = void (*)(const void* in, void* out, int64_t index, int64_t n, double* work);

class Det : public Kernel {
 public:
  explicit Det(DetLoop loop) : loop_(loop) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const size_t rank = dims.size();
    if (rank < 2 || dims[rank - 1] != dims[rank - 2]) {
      return absl::InvalidArgumentError(
          absl::StrCat("input has shape ", DimsString(dims), ", must be square matrices"));
    }
    context.SetOutput(0, dims.first(rank - 2));
    context.SetScratch(dims[rank - 1] * dims[rank - 1] * static_cast<int64_t>(sizeof(double)) *
                       context.num_workers());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const int64_t n = in.dim(in.rank() - 1);
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, n * n * n));
    context.ParallelForWorkers(context.output(0).num_elements(), grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 double* work = context.scratch<double>() + worker * n * n;
                                 for (int64_t i = begin; i < end; ++i)
                                   loop_(in.data, context.output(0).data, i, n, work);
                               });
    return absl::OkStatus();
  }

 private:
  DetLoop loop_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDet(const NodeSpec& spec) {
  DetLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunDet<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Det>(loop);
}

constexpr KernelEntry kKernels[] = {
    {"", "Det", "det_reference", MakeDet},
};

}  // namespace

KernelList ReferenceDet() { return kKernels; }

}  // namespace onward::cpu
