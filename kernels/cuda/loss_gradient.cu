// SoftmaxCrossEntropyLossGradient: a line of scores for each label, in float (double for doubles).
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/loss.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T>
struct LineGradient {
  using C = ComputeType<T>;
  Normalizer<C> normalizer;
  C given;  // the gradient of the label's loss
  int64_t label;

  __device__ T Of(T score, int64_t c) const {
    const C softmax = std::exp(Load(score) - normalizer.top - normalizer.log_sum);
    return Rounded<T>(given * (c == label ? softmax - C(1) : softmax));
  }
};

// Lines of neighbours in packs, where those of x and dx begin at the same element.
template <typename Lines, typename T>
__device__ void StoreRow(const LineGradient<T>& gradient, const T* x, T* dx, int64_t count) {
  constexpr int kPack = kPackOf<T>;
  const PackedPart<kPack> packed(x, count);
  if (PackedPart<kPack>(dx, count).begin != packed.begin) {
    for (int64_t c = Lines::index(); c < count; c += Lines::count()) dx[c] = gradient.Of(x[c], c);
    return;
  }
  const int64_t edges = packed.begin + count - packed.end;
  for (int64_t i = Lines::index(); i < edges; i += Lines::count()) {
    const int64_t c = i < packed.begin ? i : i - packed.begin + packed.end;
    dx[c] = gradient.Of(x[c], c);
  }
  const int64_t stride = static_cast<int64_t>(kPack) * Lines::count();
#pragma unroll 4
  for (int64_t c = packed.begin + kPack * Lines::index(); c < packed.end; c += stride) {
    Pack<T, kPack> pack = LoadPack<kPack>(x + c);
#pragma unroll
    for (int e = 0; e < kPack; ++e) pack.elements[e] = gradient.Of(pack.elements[e], c + e);
    StorePack(pack, dx + c);
  }
}

// `dx` may be the scores: what a thread writes, it alone reads.
template <typename S, typename T, typename Lines>
__global__ void GradientOfScores(const S* scores, Labels labels, const T* dy, S* dx,
                                 AxisSplit split, DeviceFaultSite fault) {
  using C = ComputeType<S>;
  Lines::ForEach(split, [&](const Line& line) {
    const S* x = scores + line.first;
    const Normalizer<C> n = NormalizerOf<Lines>(x, line.count, split.inner);
    if (line.number < 0) return;
    const LineGradient<S> gradient = {n, Load(dy[line.number]), labels[line.number]};
    if (Lines::index() == 0 && (gradient.label < 0 || gradient.label >= split.count))
      ReportBadIndex(fault, line.number, gradient.label, split.count);
    if constexpr (Lines::kNeighbours) {
      StoreRow<Lines>(gradient, x, dx + line.first, line.count);
    } else {
      for (int64_t c = Lines::index(); c < line.count; c += Lines::count())
        dx[line.first + c * split.inner] = gradient.Of(x[c * split.inner], c);
    }
  });
}

using LaunchScores = absl::Status (*)(const RunContext& context);

template <typename S, typename T>
absl::Status LaunchGradient(const RunContext& context) {
  const AxisSplit split = SplitOf(context.state<LossPlan>());
  return LaunchLines(GradientOfScores<S, T, RowLines<false>>,
                     GradientOfScores<S, T, RowLines<true>>, GradientOfScores<S, T, ColumnLines>,
                     split, StreamOf(context), context.in<S>(0), Labels(context.input(1)),
                     context.in<T>(2), context.out<S>(0), split,
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
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    using S = typename decltype(tag)::type;
    if (spec.input_dtype(2) == kDTypeOf<ComputeType<S>>) launch = LaunchGradient<S, ComputeType<S>>;
    if (spec.input_dtype(2) == spec.input_dtype(0)) launch = LaunchGradient<S, S>;
  });
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
