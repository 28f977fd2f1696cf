// Pad, by element size. Pads, axes and the constant lie on the host.
#include <algorithm>
#include <cstring>

#include "kernels/bind/pad.h"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "onward/shape.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAxes = 12;

// Axes with the strides of the input, the last first.
struct PadPlan {
  int64_t count = 0;
  int rank = 0;
  PadMode mode = PadMode::kConstant;
  PadAxis axes[kMostAxes];
  int64_t strides[kMostAxes] = {};
};

template <typename T>
__global__ void PadLoop(const T* in, T* out, T value, PadPlan plan) {
  for (int64_t i = GlobalIndex(); i < plan.count; i += GlobalSize()) {
    int64_t rest = i, at = 0;
    bool inside = true;
    for (int d = 0; d < plan.rank; ++d) {
      const int64_t above = rest / plan.axes[d].output;
      const int64_t from = PadSource(plan.mode, plan.axes[d], rest - above * plan.axes[d].output);
      inside = inside && from >= 0;
      at += from * plan.strides[d];
      rest = above;
    }
    out[i] = inside ? in[at] : value;
  }
}

class Pad : public Kernel {
 public:
  explicit Pad(PadMode mode) : mode_(mode) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (dims.size() > kMostAxes)
      return absl::UnimplementedError("more axes than the device's Pad takes; use --provider cpu");
    ONWARD_ASSIGN_OR_RETURN(const std::optional<PadGeometry> g, PadDims(context, mode_));
    if (!g) return context.Defer();
    context.SetOutput(0, g->output);
    auto* plan = context.NewState<PadPlan>();
    plan->count = NumElements(g->output);
    plan->rank = static_cast<int>(dims.size());
    plan->mode = mode_;
    std::reverse_copy(g->axes.begin(), g->axes.end(), plan->axes);
    const Dims strides = Strides(dims);
    std::reverse_copy(strides.begin(), strides.end(), plan->strides);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<PadPlan>();
    if (plan.count == 0) return absl::OkStatus();
    return DispatchChunk(
        static_cast<uint64_t>(BitSize(context.input(0).dtype) / 8), [&](auto chunk) {
          using T = decltype(chunk);
          T value = {};
          if (context.has_input(2)) std::memcpy(&value, context.input(2).data, sizeof(T));
          return Launch(PadLoop<T>, Blocks(plan.count), kThreads, 0, StreamOf(context),
                        context.in<T>(0), context.out<T>(0), value, plan);
        });
  }
  uint64_t host_inputs() const override { return ~uint64_t{1}; }

 private:
  PadMode mode_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakePad(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  ONWARD_ASSIGN_OR_RETURN(const PadMode mode, ParsePadMode(spec));
  return std::make_unique<Pad>(mode);
}

constexpr KernelEntry kKernels[] = {{"", "Pad", "pad_cuda", MakePad}};

}  // namespace

KernelList PadKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
