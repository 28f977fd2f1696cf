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

using LaunchAverages = absl::Status (*)(const RunContext& context, bool counts_padding);

template <typename T>
absl::Status LaunchAveragePool(const RunContext& context, bool counts_padding) {
  const auto& windows = context.state<PoolWindows>();
  return Launch(AveragePoolLoop<T>, Blocks(windows.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), windows, counts_padding);
}

class AveragePool : public Kernel {
 public:
  AveragePool(LaunchAverages launch, PoolAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolWindows windows, BindPool(context, attributes_));
    *context.NewState<PoolWindows>() = windows;
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, attributes_.count_include_pad);
  }

 private:
  LaunchAverages launch_;
  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAveragePool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckPoolAxes(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  LaunchAverages launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchAveragePool<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<AveragePool>(launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {{"", "AveragePool", "average_pool_cuda", MakeAveragePool}};

}  // namespace

KernelList AveragePoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
