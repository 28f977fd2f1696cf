// SoftmaxCrossEntropyLossGradient: a line of scores for each label, in float (double for doubles).
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/loss.cuh"

namespace onward::kernels::cuda {
namespace {

// `dx` may be the scores: a thread writes only what it alone reads.
template <typename T, typename Lines>
__global__ void GradientOfScores(const T* scores, Labels labels, const T* dy, T* dx,
                                 AxisSplit split, DeviceFaultSite fault) {
  using C = ComputeType<T>;
  Lines::ForEach(split, [&](const Line& line) {
    const T* x = scores + line.first;
    const Normalizer<C> n = NormalizerOf<Lines>(x, line.count, split.inner);
    if (line.number < 0) return;
    const int64_t label = labels[line.number];
    if (Lines::index() == 0 && (label < 0 || label >= split.count))
      ReportBadIndex(fault, line.number, label, split.count);
    const C given = Load(dy[line.number]);
    for (int64_t c = Lines::index(); c < line.count; c += Lines::count()) {
      const int64_t at = c * split.inner;
      const C softmax = std::exp(Load(x[at]) - n.top - n.log_sum);
      dx[line.first + at] = Rounded<T>(given * (c == label ? softmax - C(1) : softmax));
    }
  });
}

using LaunchScores = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchGradient(const RunContext& context) {
  const AxisSplit split = SplitOf(context.state<LossPlan>());
  return LaunchLines(GradientOfScores<T, RowLines<false>>, GradientOfScores<T, RowLines<true>>,
                     GradientOfScores<T, ColumnLines>, split, StreamOf(context), context.in<T>(0),
                     Labels(context.input(1)), context.in<T>(2), context.out<T>(0), split,
                     context.services()->device_fault());
}

class LossGradient : public Kernel {
 public:
  explicit LossGradient(LaunchScores launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override { return BindLossGradient(context); }
  absl::Status Run(RunContext& context) const override {
    return context.input(1).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchScores launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const NodeSpec& spec) {
  LaunchScores launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchGradient<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<LossGradient>(launch);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "SoftmaxCrossEntropyLossGradient", "softmax_cross_entropy_loss_gradient_cuda",
     MakeGradient},
};

}  // namespace

KernelList LossGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
