// MeanVarianceNormalization: (x - mean) / (sqrt(variance) + 1e-9) over a set of axes.
#include "kernels/bind/reduce.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using MvnLoop = void (*)(const ReducePlan& plan, const void* in, void* out, int64_t begin,
                         int64_t end);

// Sum of map(x[i]), in eight interleaved parts so that the loop vectorises.
template <typename T, typename Map>
double SumInDouble(const T* x, int64_t count, Map map) {
  constexpr int kLanes = 8;
  const auto value = [&](int64_t i) {
    return map(static_cast<double>(static_cast<ComputeType<T>>(x[i])));
  };
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] += value(i + k);
  }
  for (; i < count; ++i) lanes[0] += value(i);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// A group whose innermost loop is contiguous, at `x` and `y`.
template <typename T>
void RunContiguousGroup(const ReducePlan& plan, const T* x, T* y) {
  using C = ComputeType<T>;
  const int64_t run = plan.reduced_dims[0], runs = plan.reduced_count / run;
  const auto offset = [&](int64_t r) {
    return LoopOffset(plan.reduced_rank - 1, plan.reduced_dims + 1, plan.reduced_strides + 1, r);
  };
  const auto sum_of = [&](auto map) {
    double sum = 0;
    for (int64_t r = 0; r < runs; ++r) sum += SumInDouble(x + offset(r), run, map);
    return sum;
  };
  const double count = static_cast<double>(plan.reduced_count);
  const double mean = sum_of([](double v) { return v; }) / count;
  const double squares = sum_of([mean](double v) { return (v - mean) * (v - mean); });
  const double factor = 1 / (std::sqrt(squares / count) + 1e-9);
  for (int64_t r = 0; r < runs; ++r) {
    const T* from = x + offset(r);
    T* to = y + offset(r);
    for (int64_t i = 0; i < run; ++i) {
      const double value = static_cast<double>(static_cast<C>(from[i]));
      to[i] = static_cast<T>(static_cast<C>((value - mean) * factor));
    }
  }
}

// The groups [begin, end): one per position of the kept axes.
template <typename T>
void RunGroups(const ReducePlan& plan, const void* in, void* out, int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  for (int64_t group = begin; group < end; ++group) {
    const int64_t base = LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, group);
    if (plan.innermost_is_reduced() && plan.reduced_count > 0) {
      RunContiguousGroup(plan, static_cast<const T*>(in) + base, static_cast<T*>(out) + base);
      continue;
    }
    const auto place = [&](int64_t r) {
      return base + LoopOffset(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, r);
    };
    const auto value = [&](int64_t r) {
      return static_cast<double>(static_cast<C>(static_cast<const T*>(in)[place(r)]));
    };
    const double count = static_cast<double>(plan.reduced_count);
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < plan.reduced_count; ++r) sum += value(r);
    const double mean = sum / count;
    for (int64_t r = 0; r < plan.reduced_count; ++r)
      squares += (value(r) - mean) * (value(r) - mean);
    const double divisor = std::sqrt(squares / count) + 1e-9;
    for (int64_t r = 0; r < plan.reduced_count; ++r)
      static_cast<T*>(out)[place(r)] = static_cast<T>(static_cast<C>((value(r) - mean) / divisor));
  }
}

class MeanVarianceNormalization : public Kernel {
 public:
  MeanVarianceNormalization(MvnLoop loop, std::vector<int64_t> axes)
      : loop_(loop), axes_(std::move(axes)) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    if (rank > 64) return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " is above 64"));
    uint64_t reduced = 0;
    for (int64_t given : axes_) {
      ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given, rank));
      reduced |= uint64_t{1} << axis;
    }
    context.SetOutput(0, dims);
    return BuildReducePlan(dims, reduced, context.NewState<ReducePlan>());
  }

  absl::Status Run(RunContext& context) const override {
    const ReducePlan& plan = context.state<ReducePlan>();
    const int64_t grain =
        std::max<int64_t>(1, kMathGrain / std::max<int64_t>(1, plan.reduced_count));
    context.ParallelFor(plan.kept_count, grain, [&](int64_t begin, int64_t end) {
      loop_(plan, context.input(0).data, context.output(0).data, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  MvnLoop loop_;
  std::vector<int64_t> axes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMeanVarianceNormalization(const NodeSpec& spec) {
  MvnLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunGroups<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<MeanVarianceNormalization>(loop,
                                                     spec.attributes().Ints("axes", {0, 2, 3}));
}

constexpr KernelEntry kKernels[] = {
    {"", "MeanVarianceNormalization", "mean_variance_normalization_reference",
     MakeMeanVarianceNormalization},
};

}  // namespace

KernelList ReferenceMeanVarianceNormalization() { return kKernels; }

}  // namespace onward::kernels::cpu
