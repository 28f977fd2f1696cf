// LRN and LpNormalization: every column along one axis is normalised by itself.
#include "kernels/bind/lrn.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// The columns [begin, end) of outer * inner; each is a run of channels.
template <typename T>
void RunLrn(const AxisSplit& plan, const LrnParameters& p, const void* in, void* out, int64_t begin,
            int64_t end) {
  using C = ComputeType<T>;
  const int64_t before = (p.size - 1) / 2, after = p.size - 1 - before;
  for (int64_t column = begin; column < end; ++column) {
    const int64_t offset = column / plan.inner * plan.count * plan.inner + column % plan.inner;
    const T* x = static_cast<const T*>(in) + offset;
    T* y = static_cast<T*>(out) + offset;
    for (int64_t c = 0; c < plan.count; ++c) {
      C squares = 0;
      const int64_t last = std::min(plan.count - 1, c + after);
      for (int64_t k = std::max<int64_t>(0, c - before); k <= last; ++k) {
        const C value = static_cast<C>(x[k * plan.inner]);
        squares += value * value;
      }
      const C base =
          static_cast<C>(p.bias) + static_cast<C>(p.alpha) / static_cast<C>(p.size) * squares;
      y[c * plan.inner] = static_cast<T>(static_cast<C>(x[c * plan.inner]) /
                                         std::pow(base, static_cast<C>(p.beta)));
    }
  }
}

// x / norm, 0 where the norm is 0.
template <typename T>
void RunLp(const AxisSplit& plan, int64_t p, const void* in, void* out, int64_t begin,
           int64_t end) {
  using C = ComputeType<T>;
  for (int64_t column = begin; column < end; ++column) {
    const int64_t offset = column / plan.inner * plan.count * plan.inner + column % plan.inner;
    const T* x = static_cast<const T*>(in) + offset;
    T* y = static_cast<T*>(out) + offset;
    double norm = 0;
    for (int64_t i = 0; i < plan.count; ++i) {
      const double value = static_cast<double>(static_cast<C>(x[i * plan.inner]));
      norm += p == 1 ? std::fabs(value) : value * value;
    }
    const C divisor = static_cast<C>(p == 1 ? norm : std::sqrt(norm));
    for (int64_t i = 0; i < plan.count; ++i) {
      const C value = static_cast<C>(x[i * plan.inner]);
      y[i * plan.inner] = static_cast<T>(divisor == C(0) ? C(0) : value / divisor);
    }
  }
}

template <typename Parameters>
using ColumnLoop = void (*)(const AxisSplit&, Parameters, const void*, void*, int64_t, int64_t);

// A kernel that treats every column along one axis by itself.
template <typename Parameters, typename Argument>
class ColumnKernel : public Kernel {
 public:
  ColumnKernel(ColumnLoop<Argument> loop, int64_t axis, Parameters parameters)
      : loop_(loop), axis_(axis), parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override { return BindColumns(context, axis_); }
  absl::Status Run(RunContext& context) const override {
    const AxisSplit& plan = context.state<AxisSplit>();
    if (plan.count == 0) return absl::OkStatus();
    const void* in = context.input(0).data;
    void* out = context.output(0).data;
    context.ParallelFor(
        plan.outer * plan.inner, std::max<int64_t>(1, kMathGrain / plan.count),
        [&](int64_t begin, int64_t end) { loop_(plan, parameters_, in, out, begin, end); });
    return absl::OkStatus();
  }

 private:
  ColumnLoop<Argument> loop_;
  int64_t axis_;
  Parameters parameters_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLrn(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const LrnParameters parameters, LrnParameters::Parse(spec));
  ColumnLoop<const LrnParameters&> loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunLrn<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ColumnKernel<LrnParameters, const LrnParameters&>>(loop, 1, parameters);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLpNormalization(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t p, ParseNorm(spec));
  ColumnLoop<int64_t> loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunLp<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ColumnKernel<int64_t, int64_t>>(loop, spec.attributes().Int("axis", -1),
                                                          p);
}

constexpr KernelEntry kKernels[] = {
    {"", "LRN", "lrn_reference", MakeLrn},
    {"", "LpNormalization", "lp_normalization_reference", MakeLpNormalization},
};

}  // namespace

KernelList ReferenceLrn() { return kKernels; }

}  // namespace onward::kernels::cpu
