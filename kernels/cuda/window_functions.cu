// HannWindow, HammingWindow and BlackmanWindow. The size lies on the host.
#include "kernels/bind/window_functions.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T>
__global__ void WindowLoop(T* out, int64_t size, int64_t period, WindowCosines cosines) {
  for (int64_t n = GlobalIndex(); n < size; n += GlobalSize())
    out[n] = Rounded<T>(static_cast<ComputeType<T>>(WindowElement(cosines, n, period)));
}

using LaunchWindow = absl::Status (*)(const RunContext& context, int64_t period,
                                      const WindowCosines& cosines);

template <typename T>
absl::Status LaunchLoop(const RunContext& context, int64_t period, const WindowCosines& cosines) {
  const int64_t size = context.output(0).num_elements();
  return Launch(WindowLoop<T>, Blocks(size), kThreads, 0, StreamOf(context), context.out<T>(0),
                size, period, cosines);
}

class Window : public Kernel {
 public:
  Window(LaunchWindow launch, const WindowCosines& cosines, bool periodic)
      : launch_(launch), cosines_(cosines), periodic_(periodic) {}
  absl::Status Bind(BindContext& context) const override { return BindWindow(context); }
  absl::Status Run(RunContext& context) const override {
    const int64_t size = context.output(0).num_elements();
    if (size == 0) return absl::OkStatus();
    return launch_(context, periodic_ ? size : size - 1, cosines_);
  }
  uint64_t host_inputs() const override { return 1; }

 private:
  LaunchWindow launch_;
  const WindowCosines& cosines_;
  bool periodic_;
};

template <const WindowCosines& cosines>
absl::StatusOr<std::unique_ptr<Kernel>> MakeWindow(const NodeSpec& spec) {
  const auto dtype = static_cast<DType>(spec.attributes().Int("output_datatype", 1));
  LaunchWindow launch = nullptr;
  DispatchDType(FloatTypes(), dtype,
                [&](auto tag) { launch = LaunchLoop<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(dtype);
  return std::make_unique<Window>(launch, cosines, spec.attributes().Int("periodic", 1) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "BlackmanWindow", "blackman_window_cuda", MakeWindow<kBlackman>},
    {"", "HammingWindow", "hamming_window_cuda", MakeWindow<kHamming>},
    {"", "HannWindow", "hann_window_cuda", MakeWindow<kHann>},
};

}  // namespace

KernelList WindowFunctions() { return kKernels; }

}  // namespace onward::kernels::cuda
