// Range. Its inputs lie on the host.
#include "kernels/bind/range.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T, typename C>
__global__ void RangeLoop(T* out, int64_t count, C start, C delta) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize())
    out[i] = Rounded<T>(RangeElement(start, delta, i));
}

using LaunchElements = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchRange(const RunContext& context) {
  using C = RangeCountType<T>;
  const int64_t count = context.output(0).num_elements();
  const C start = *context.in<T>(0), delta = *context.in<T>(2);
  return Launch(RangeLoop<T, C>, Blocks(count), kThreads, 0, StreamOf(context), context.out<T>(0),
                count, start, delta);
}

class Range : public Kernel {
 public:
  explicit Range(LaunchElements launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override { return BindRange(context); }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }
  uint64_t host_inputs() const override { return 7; }

 private:
  LaunchElements launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRange(const NodeSpec& spec) {
  LaunchElements launch = nullptr;
  DispatchDType(RangeTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchRange<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Range>(launch);
}

constexpr KernelEntry kKernels[] = {{"", "Range", "range_cuda", MakeRange}};

}  // namespace

KernelList RangeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
