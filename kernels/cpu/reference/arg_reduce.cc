// ArgMax and ArgMin along one axis. The first NaN wins over every number, as in NumPy.
#include "kernels/bind/arg_reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/extreme_run.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kColumns = 256;

// Positions of the extremes of `columns` neighbouring columns. `At`: a type for positions, as wide
// as the elements where it can be, so that the loop takes vectors.
template <typename At, typename T, bool max, bool last>
void RunColumns(const T* x, int64_t* y, const ArgPlan& plan, int64_t columns) {
  using C = ComputeType<T>;
  C best[kColumns];
  At at[kColumns];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = static_cast<C>(x[j]);
    at[j] = 0;
  }
  for (int64_t i = 1; i < plan.count; ++i) {
    const T* row = x + i * plan.inner;
    for (int64_t j = 0; j < columns; ++j) {
      const C value = static_cast<C>(row[j]), so_far = best[j];
      bool better = max ? value > so_far : value < so_far;
      if constexpr (last) better |= value == so_far;
      if constexpr (!std::is_integral_v<C>) {
        const bool nan = value != value, had_nan = so_far != so_far;
        better |= last ? nan : nan & !had_nan;
      }
      best[j] = better ? value : so_far;
      at[j] = better ? static_cast<At>(i) : at[j];
    }
  }
  for (int64_t j = 0; j < columns; ++j) y[j] = at[j];
}

// Rows of no more elements are compared with their extreme all at once.
constexpr int64_t kShortRow = 64;

// Where one of `count` elements equals `best`, which some element does: the first, or the last.
template <bool last, typename T, typename C>
int64_t PlaceOf(const T* x, int64_t count, C best) {
  int64_t place = last ? -1 : count, i = 0;
  const auto take = [&](int64_t at) { place = last ? std::max(place, at) : std::min(place, at); };
  if constexpr (sizeof(T) == 4) {
    typedef T Vector __attribute__((vector_size(16)));
    typedef int32_t Places __attribute__((vector_size(16)));
    const Places none = Places{} + static_cast<int32_t>(place);
    Places places = none, at = {0, 1, 2, 3};
    for (; i + 4 <= count; i += 4, at += 4) {
      Vector v;
      std::memcpy(&v, x + i, sizeof(v));
      const Places here = v == Vector{} + best ? at : none;
      places = (last ? here > places : here < places) ? here : places;
    }
    constexpr Fold kFold = last ? Fold::kMax : Fold::kMin;
    take(FoldLanesOf<kFold, 4>(places));
  }
  for (; i < count; ++i) take(static_cast<C>(x[i]) == best ? i : place);
  return place;
}

// The same of one contiguous row: the extreme of each block first, then its place in the best one.
template <typename T, bool max, bool last>
int64_t RunRow(const T* x, int64_t count) {
  using C = ComputeType<T>;
  constexpr int64_t kBlock = 1024;
  C best = ExtremeIdentity<max, C>();
  int64_t at = 0;
  for (int64_t i = 0; i < count; i += kBlock) {
    const Extreme<C> found = ExtremeOfRun<max>(x + i, std::min(kBlock, count - i));
    if (found.nan) {
      int64_t result = 0;
      RunColumns<int64_t, T, max, last>(x, &result, {1, count, 1}, 1);
      return result;
    }
    const bool better = max ? found.value > best : found.value < best;
    if (better || (last && found.value == best)) best = found.value, at = i;
  }
  if (count <= kShortRow) return PlaceOf<last>(x, count, best);
  const int64_t end = std::min(count, at + kBlock);
  if constexpr (last) {
    int64_t i = end - 1;
    while (i > at && static_cast<C>(x[i]) != best) --i;
    return i;
  }
  while (at + 1 < end && static_cast<C>(x[at]) != best) ++at;
  return at;
}

template <typename T, bool max, bool last>
void RunArg(const void* in, int64_t* out, const ArgPlan& plan, int64_t begin, int64_t end) {
  if (plan.inner == 1) {
    const T* x = static_cast<const T*>(in);
    for (int64_t i = begin; i < end; ++i)
      out[i] = RunRow<T, max, last>(x + i * plan.count, plan.count);
    return;
  }
  for (int64_t i = begin; i < end;) {
    const int64_t first = i % plan.inner;
    const int64_t columns = std::min({end - i, plan.inner - first, kColumns});
    const T* x = static_cast<const T*>(in) + i / plan.inner * plan.count * plan.inner + first;
    using Near = std::conditional_t<sizeof(ComputeType<T>) == 8, int64_t, int32_t>;
    const bool far = plan.count > std::numeric_limits<Near>::max();
    (far ? RunColumns<int64_t, T, max, last> : RunColumns<Near, T, max, last>)(x, out + i, plan,
                                                                               columns);
    i += columns;
  }
}

using ArgLoop = void (*)(const void* in, int64_t* out, const ArgPlan& plan, int64_t begin,
                         int64_t end);

class ArgReduce : public Kernel {
 public:
  ArgReduce(ArgLoop loop, int64_t axis, bool keep_dims)
      : loop_(loop), axis_(axis), keep_dims_(keep_dims) {}

  absl::Status Bind(BindContext& context) const override {
    return BindArgReduce(context, axis_, keep_dims_);
  }

  absl::Status Run(RunContext& context) const override {
    const ArgPlan& plan = context.state<ArgPlan>();
    if (plan.count == 0) return absl::OkStatus();
    const void* in = context.input(0).data;
    int64_t* out = context.out<int64_t>(0);
    context.ParallelFor(plan.outer * plan.inner, std::max<int64_t>(1, kCheapGrain / plan.count),
                        [&](int64_t begin, int64_t end) { loop_(in, out, plan, begin, end); });
    return absl::OkStatus();
  }

 private:
  ArgLoop loop_;
  int64_t axis_;
  bool keep_dims_;
};

template <bool max>
absl::StatusOr<std::unique_ptr<Kernel>> MakeArgReduce(const NodeSpec& spec) {
  const bool last = spec.attributes().Int("select_last_index", 0) != 0;
  ArgLoop loop = nullptr;
  DispatchDType(NumericTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop = last ? RunArg<T, max, true> : RunArg<T, max, false>;
  });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ArgReduce>(loop, spec.attributes().Int("axis", 0),
                                     spec.attributes().Int("keepdims", 1) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "ArgMax", "arg_max_reference", MakeArgReduce<true>},
    {"", "ArgMin", "arg_min_reference", MakeArgReduce<false>},
};

}  // namespace

KernelList ReferenceArgReduce() { return kKernels; }

}  // namespace onward::kernels::cpu
