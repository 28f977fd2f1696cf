// CumSum and CumProd along one axis.
#include "kernels/bind/cumulative.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/binary.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kColumns = 256;

// One tile of columns. Float formats of 16 bits accumulate in float.
template <typename F, typename T>
void RunColumns(const T* x, T* y, const CumulativePlan& plan, int64_t columns, bool exclusive,
                bool reverse) {
  using C = ComputeType<T>;
  C total[kColumns];
  std::fill(total, total + columns, std::is_same_v<F, functors::Add> ? C(0) : C(1));
  const int64_t stride = reverse ? -plan.inner : plan.inner;
  if (reverse) x += (plan.count - 1) * plan.inner, y += (plan.count - 1) * plan.inner;
  if constexpr (std::is_same_v<T, float> && std::is_same_v<F, functors::Add>) {
    if (!exclusive && columns >= 16) {
      static const FloatBinaryLoop add = kBinaryPerTarget.For(VectorTarget())(FloatBinary::kAdd);
      for (int64_t step = 0; step < plan.count; ++step, x += stride, y += stride)
        add(step == 0 ? total : y - stride, 1, x, 1, y, columns);
      return;
    }
  }
  for (int64_t step = 0; step < plan.count; ++step, x += stride, y += stride) {
    if (exclusive) {
      for (int64_t j = 0; j < columns; ++j) {
        const C next = F()(total[j], static_cast<C>(x[j]));
        y[j] = static_cast<T>(total[j]);
        total[j] = next;
      }
    } else {
      for (int64_t j = 0; j < columns; ++j) {
        total[j] = F()(total[j], static_cast<C>(x[j]));
        y[j] = static_cast<T>(total[j]);
      }
    }
  }
}

template <typename F, typename T>
void RunCumulative(const void* in, void* out, const CumulativePlan& plan, int64_t begin,
                   int64_t end, bool exclusive, bool reverse) {
  for (int64_t i = begin; i < end;) {
    const int64_t first = i % plan.inner;
    const int64_t columns = std::min({end - i, plan.inner - first, kColumns});
    const int64_t offset = i / plan.inner * plan.count * plan.inner + first;
    RunColumns<F>(static_cast<const T*>(in) + offset, static_cast<T*>(out) + offset, plan, columns,
                  exclusive, reverse);
    i += columns;
  }
}

using CumulativeLoop = void (*)(const void* in, void* out, const CumulativePlan& plan,
                                int64_t begin, int64_t end, bool exclusive, bool reverse);

class Cumulative : public Kernel {
 public:
  Cumulative(CumulativeLoop loop, bool exclusive, bool reverse)
      : loop_(loop), exclusive_(exclusive), reverse_(reverse) {}

  absl::Status Bind(BindContext& context) const override { return BindCumulative(context); }

  absl::Status Run(RunContext& context) const override {
    const CumulativePlan& plan = context.state<CumulativePlan>();
    if (plan.count == 0) return absl::OkStatus();
    const void* in = context.input(0).data;
    void* out = context.output(0).data;
    // Whole tiles of columns: narrow ones read a few elements of every row.
    const int64_t grain =
        std::max<int64_t>(plan.inner == 1 ? 1 : kColumns, kCheapGrain / plan.count);
    context.ParallelFor(plan.outer * plan.inner, grain, [&](int64_t begin, int64_t end) {
      loop_(in, out, plan, begin, end, exclusive_, reverse_);
    });
    return absl::OkStatus();
  }

 private:
  CumulativeLoop loop_;
  bool exclusive_, reverse_;
};

template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> MakeCumulative(const NodeSpec& spec) {
  using Types = Concat<FloatTypes, TypeList<int32_t, int64_t, uint32_t, uint64_t>>;
  CumulativeLoop loop = nullptr;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { loop = RunCumulative<F, typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Cumulative>(loop, spec.attributes().Int("exclusive", 0) != 0,
                                      spec.attributes().Int("reverse", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "CumProd", "cum_prod_reference", MakeCumulative<functors::Mul>},
    {"", "CumSum", "cum_sum_reference", MakeCumulative<functors::Add>},
};

}  // namespace

KernelList ReferenceCumulative() { return kKernels; }

}  // namespace onward::kernels::cpu
