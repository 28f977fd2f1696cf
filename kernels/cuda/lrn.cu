// LRN, an element at a time, and LpNormalization of lines along an axis.
#include <cmath>

#include "kernels/bind/lrn.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/lines.cuh"

namespace onward::kernels::cuda {
namespace {

// x over a power of the squares of the channels around it.
template <typename T>
__global__ void LrnLoop(const T* x, T* y, AxisSplit split, int64_t count, LrnParameters p) {
  using C = ComputeType<T>;
  const int64_t before = (p.size - 1) / 2, after = p.size - 1 - before;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t above = Quotient(i, split.inner);
    const int64_t channel = above - Quotient(above, split.count) * split.count;
    const T* channels = x + (i - channel * split.inner);
    const int64_t first = channel < before ? 0 : channel - before;
    const int64_t last = split.count - 1 - channel < after ? split.count - 1 : channel + after;
    C squares = 0;
    for (int64_t k = first; k <= last; ++k) {
      const C value = Load(channels[k * split.inner]);
      squares += value * value;
    }
    const C base =
        static_cast<C>(p.bias) + static_cast<C>(p.alpha) / static_cast<C>(p.size) * squares;
    y[i] = Rounded<T>(Load(x[i]) / std::pow(base, static_cast<C>(p.beta)));
  }
}

// x / norm, 0 where the norm is 0. Norms are summed in double, so that no square is infinite.
template <typename T, typename Lines>
__global__ void DivideByNorm(const T* x, T* y, AxisSplit split, int64_t p) {
  using C = ComputeType<T>;
  Lines::ForEach(split, [&](const Line& line) {
    double norm = 0;
    for (int64_t i = Lines::index(); i < line.count; i += Lines::count()) {
      const auto value = static_cast<double>(Load(x[line.first + i * split.inner]));
      norm += p == 1 ? std::fabs(value) : value * value;
    }
    norm = Lines::template Combine<functors::Add>(norm);
    const C divisor = static_cast<C>(p == 1 ? norm : std::sqrt(norm));
    for (int64_t i = Lines::index(); i < line.count; i += Lines::count()) {
      const int64_t at = line.first + i * split.inner;
      y[at] = Rounded<T>(divisor == C(0) ? C(0) : Load(x[at]) / divisor);
    }
  });
}

template <typename Parameters>
using LaunchColumns = absl::Status (*)(const RunContext& context, const Parameters& parameters);

template <typename T>
absl::Status LaunchLrn(const RunContext& context, const LrnParameters& parameters) {
  const int64_t count = context.input(0).num_elements();
  return Launch(LrnLoop<T>, Blocks(count), kThreads, 0, StreamOf(context), context.in<T>(0),
                context.out<T>(0), context.state<AxisSplit>(), count, parameters);
}

template <typename T>
absl::Status LaunchNorm(const RunContext& context, const int64_t& p) {
  const auto& split = context.state<AxisSplit>();
  return LaunchLines(DivideByNorm<T, RowLines<false>>, DivideByNorm<T, RowLines<true>>,
                     DivideByNorm<T, ColumnLines>, split, StreamOf(context), context.in<T>(0),
                     context.out<T>(0), split, p);
}

template <typename Parameters>
class ColumnKernel : public Kernel {
 public:
  ColumnKernel(LaunchColumns<Parameters> launch, int64_t axis, Parameters parameters)
      : launch_(launch), axis_(axis), parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override { return BindColumns(context, axis_); }
  absl::Status Run(RunContext& context) const override {
    if (context.input(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, parameters_);
  }

 private:
  LaunchColumns<Parameters> launch_;
  int64_t axis_;
  Parameters parameters_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLrn(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const LrnParameters parameters, LrnParameters::Parse(spec));
  LaunchColumns<LrnParameters> launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchLrn<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ColumnKernel<LrnParameters>>(launch, 1, parameters);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLpNormalization(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t p, ParseNorm(spec));
  LaunchColumns<int64_t> launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchNorm<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ColumnKernel<int64_t>>(launch, spec.attributes().Int("axis", -1), p);
}

constexpr KernelEntry kKernels[] = {
    {"", "LRN", "lrn_cuda", MakeLrn},
    {"", "LpNormalization", "lp_normalization_cuda", MakeLpNormalization},
};

}  // namespace

KernelList LrnKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
