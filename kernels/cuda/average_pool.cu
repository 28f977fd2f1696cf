// AveragePool with windows that cuDNN has no numbers for: padded unevenly, dilated, beyond the
// input's end, over one to three axes.
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/pool_windows.cuh"

namespace onward::kernels::cuda {
namespace {

// The taps of the window of output i that lie in the input with its padding.
__device__ inline int64_t PaddedCount(const PoolWindows& windows, int64_t i) {
  int64_t count = 1, rest = i;
  for (int a = kPoolAxes - 1; a >= 0; --a) {
    const WindowAxis& axis = windows.axes[a];
    const int64_t above = Quotient(rest, axis.output);
    const int64_t start = (rest - above * axis.output) * axis.stride;
    const int64_t size = axis.input + axis.pad_begin + axis.pad_end - start;
    const int64_t taps = Quotient(size + axis.dilation - 1, axis.dilation);
    count *= taps < axis.kernel ? taps : axis.kernel;
    rest = above;
  }
  return count;
}

template <typename T>
__global__ void AveragePoolLoop(const T* x, T* y, PoolWindows windows, bool counts_padding) {
  using C = ComputeType<T>;
  for (int64_t i = GlobalIndex(); i < windows.count; i += GlobalSize()) {
    C sum = 0;
    int64_t count = 0;
    VisitWindow(windows, i, [&](int64_t at) {
      sum += Load(x[at]);
      ++count;
    });
    if (counts_padding) count = PaddedCount(windows, i);
    y[i] = Rounded<T>(count == 0 ? C(0) : sum / static_cast<C>(count));
  }
}

template <typename T>
absl::Status LaunchAveragePool(const RunContext& context, const PoolAttributes& attributes) {
  const auto& windows = context.state<PoolWindows>();
  return Launch(AveragePoolLoop<T>, Blocks(windows.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), windows, attributes.count_include_pad);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAveragePool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckPoolAxes(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  LaunchWindowPool launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchAveragePool<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<WindowPool>(launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {{"", "AveragePool", "average_pool_cuda", MakeAveragePool}};

}  // namespace

KernelList AveragePoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
