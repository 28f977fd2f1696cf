// Det by LU decomposition with partial pivoting, in double: a block for each matrix.
#include <algorithm>
#include <cmath>

#include "kernels/bind/square_matrices.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int64_t kMostBlocks = 1024;  // each has scratch for a matrix

// All threads call these; each has every blockDim.x-th element.
__device__ void SwapRows(double* a, int64_t n, int64_t row, int64_t other) {
  for (int64_t k = threadIdx.x; k < n; k += blockDim.x) {
    const double element = a[row * n + k];
    a[row * n + k] = a[other * n + k];
    a[other * n + k] = element;
  }
}
__device__ void Eliminate(double* a, int64_t n, int64_t column) {
  const int64_t size = n - column - 1;
  const double head = a[column * n + column];
  for (int64_t i = threadIdx.x; i < size * size; i += blockDim.x) {
    const int64_t line = Quotient(i, size);
    const int64_t row = column + 1 + line, k = column + 1 + i - line * size;
    a[row * n + k] -= a[row * n + column] / head * a[column * n + k];
  }
}

// The first row from `column` on whose element there is the greatest.
__device__ int64_t PivotOf(const double* a, int64_t n, int64_t column) {
  int64_t pivot = column;
  for (int64_t row = column + 1; row < n; ++row)
    if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
  return pivot;
}

template <typename T>
__global__ void DetLoop(const T* x, T* y, double* work, int64_t count, int64_t n) {
  __shared__ int64_t pivot;
  double* a = work + static_cast<int64_t>(blockIdx.x) * n * n;
  for (int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    for (int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
      a[i] = static_cast<double>(Load(x[matrix * n * n + i]));
    double result = 1;
    for (int64_t column = 0; column < n; ++column) {
      __syncthreads();
      if (threadIdx.x == 0) pivot = PivotOf(a, n, column);
      __syncthreads();
      if (pivot != column) {
        SwapRows(a, n, pivot, column);
        result = -result;
        __syncthreads();
      }
      const double head = a[column * n + column];
      result *= head;
      if (head == 0) break;
      Eliminate(a, n, column);
    }
    if (threadIdx.x == 0) y[matrix] = Rounded<T>(static_cast<ComputeType<T>>(result));
    __syncthreads();
  }
}

using LaunchMatrices = absl::Status (*)(const RunContext& context, int64_t count, int64_t n);

int64_t BlocksOf(int64_t count) { return std::min(count, kMostBlocks); }

template <typename T>
absl::Status LaunchDet(const RunContext& context, int64_t count, int64_t n) {
  return Launch(DetLoop<T>, static_cast<unsigned>(BlocksOf(count)), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), context.scratch<double>(), count, n);
}

class Det : public Kernel {
 public:
  explicit Det(LaunchMatrices launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindSquareMatrices(context, MatrixGives::kElement));
    const DimsView dims = context.input_dims(0);
    context.SetScratch(BlocksOf(NumElements(dims.first(dims.size() - 2))) * dims.back() *
                       dims.back() * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    return count == 0 ? absl::OkStatus() : launch_(context, count, context.input(0).dims.back());
  }

 private:
  LaunchMatrices launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDet(const NodeSpec& spec) {
  LaunchMatrices launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchDet<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Det>(launch);
}

constexpr KernelEntry kKernels[] = {{"", "Det", "det_cuda", MakeDet}};

}  // namespace

KernelList DetKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
