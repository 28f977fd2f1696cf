// The reductions over axes. Sums run in blocks whose partial sums are added in double (floats) or
// wrap (integers); blocks depend on the shape only.
#include "kernels/bind/reduce.h"

#include "kernels/cast_convert.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/extreme_run.h"

namespace onward::kernels::cpu {
namespace {

// Elements summed into one partial value, and columns reduced side by side.
constexpr int64_t kBlock = 512;
constexpr int64_t kColumns = 256;

// Accumulation: floats in their compute type per block and double across blocks; integers wrap in
// 64 bits (which, cut to the element type, is wrapping there).
template <typename T>
using PartialType =
    std::conditional_t<std::is_floating_point_v<ComputeType<T>>, ComputeType<T>, uint64_t>;
template <typename T>
using TotalType = std::conditional_t<std::is_floating_point_v<ComputeType<T>>, double, uint64_t>;

// A reduction: Map each element, Combine, Finish with the number of elements.
struct AddUp {
  template <typename P>
  static P Initial() {
    return P(0);
  }
  template <typename P>
  static P Combine(P a, P b) {
    return a + b;
  }
};

template <typename T, typename P>
P Load(T x) {
  using C = ComputeType<T>;
  if constexpr (std::is_floating_point_v<C>) {
    return static_cast<P>(static_cast<C>(x));
  } else {
    return static_cast<P>(static_cast<int64_t>(x));  // sign-extended
  }
}

// The total as a number: signed for signed T.
template <typename T, typename A>
double AsDouble(A total) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return static_cast<double>(static_cast<int64_t>(total));
  return static_cast<double>(total);
}

struct Sum : AddUp {
  template <typename T, typename P>
  static P Map(T x) {
    return Load<T, P>(x);
  }
  template <typename T, typename A>
  static T Finish(A total, int64_t) {
    return Convert<T>(total);
  }
};

struct Mean : Sum {
  template <typename T, typename A>
  static T Finish(A total, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      if (count == 0) return 0;
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(total) / count);
      return static_cast<T>(total / static_cast<uint64_t>(count));
    } else {
      return Convert<T>(total / static_cast<double>(count));
    }
  }
};

struct L1 : Sum {
  template <typename T, typename P>
  static P Map(T x) {
    const P value = Load<T, P>(x);
    if constexpr (std::is_floating_point_v<P>) {
      return std::fabs(value);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? P(0) - value : value;
    } else {
      return value;
    }
  }
};

struct SumSquare : Sum {
  template <typename T, typename P>
  static P Map(T x) {
    const P value = Load<T, P>(x);
    return value * value;
  }
};

struct L2 : SumSquare {
  template <typename T, typename A>
  static T Finish(A total, int64_t) {
    return Convert<T>(std::sqrt(AsDouble<T>(total)));
  }
};

struct LogSum : Sum {
  template <typename T, typename A>
  static T Finish(A total, int64_t) {
    return Convert<T>(std::log(total));
  }
};

struct Prod : Sum {
  template <typename P>
  static P Initial() {
    return P(1);
  }
  template <typename P>
  static P Combine(P a, P b) {
    return a * b;
  }
};

template <typename Pick>
struct Extremum {
  template <typename T, typename P>
  static P Map(T x) {
    return static_cast<P>(x);
  }
  template <typename P>
  static P Combine(P a, P b) {
    return Pick()(a, b);
  }
  template <typename T, typename A>
  static T Finish(A total, int64_t) {
    return static_cast<T>(total);
  }
};
struct Maximum : Extremum<functors::Max> {
  template <typename P>
  static P Initial() {
    return ExtremeIdentity<true, P>();
  }
};
struct Minimum : Extremum<functors::Min> {
  template <typename P>
  static P Initial() {
    return ExtremeIdentity<false, P>();
  }
};

template <typename R>
inline constexpr bool kIsExtreme = std::is_same_v<R, Maximum> || std::is_same_v<R, Minimum>;
template <typename R, typename T>
using PartialOf = std::conditional_t<kIsExtreme<R>, ComputeType<T>, PartialType<T>>;
template <typename R, typename T>
using TotalOf = std::conditional_t<kIsExtreme<R>, ComputeType<T>, TotalType<T>>;

// Combines `count` contiguous elements: eight interleaved partial values, so that the loop
// vectorises.
template <typename R, typename T>
PartialOf<R, T> ReduceRun(const T* x, int64_t count) {
  using P = PartialOf<R, T>;
  if constexpr (kIsExtreme<R>) {
    const Extreme<P> found = ExtremeOfRun<std::is_same_v<R, Maximum>>(x, count);
    if constexpr (std::is_floating_point_v<P>)
      return found.nan ? std::numeric_limits<P>::quiet_NaN() : found.value;
    return found.value;
  }
  constexpr int kLanes = 8;
  P lanes[kLanes];
  for (P& lane : lanes) lane = R::template Initial<P>();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k)
      lanes[k] = R::template Combine<P>(lanes[k], R::template Map<T, P>(x[i + k]));
  }
  for (; i < count; ++i) lanes[0] = R::template Combine<P>(lanes[0], R::template Map<T, P>(x[i]));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lanes[k] = R::template Combine<P>(lanes[k], lanes[k + width]);
  }
  return lanes[0];
}

// One output element: the innermost reduced loop is contiguous.
template <typename R, typename T>
TotalOf<R, T> ReduceContiguous(const T* x, const ReducePlan& plan) {
  using A = TotalOf<R, T>;
  A total = R::template Initial<A>();
  const int64_t run = plan.reduced_dims[0], runs = plan.reduced_count / run;
  for (int64_t r = 0; r < runs; ++r) {
    const T* from =
        x + LoopOffset(plan.reduced_rank - 1, plan.reduced_dims + 1, plan.reduced_strides + 1, r);
    const int64_t block = kIsExtreme<R> ? run : kBlock;
    for (int64_t i = 0; i < run; i += block) {
      total = R::template Combine<A>(
          total, static_cast<A>(ReduceRun<R>(from + i, std::min(block, run - i))));
    }
  }
  return total;
}

// `columns` neighbouring output elements whose inputs are contiguous.
template <typename R, typename T>
void ReduceColumns(const T* x, T* y, const ReducePlan& plan, int64_t columns) {
  using P = PartialOf<R, T>;
  using A = TotalOf<R, T>;
  P partial[kColumns];
  A total[kColumns];
  std::fill(total, total + columns, R::template Initial<A>());
  for (int64_t begin = 0; begin < plan.reduced_count; begin += kBlock) {
    std::fill(partial, partial + columns, R::template Initial<P>());
    const int64_t end = std::min(plan.reduced_count, begin + kBlock);
    const auto row = [&](int64_t r) {
      return x + LoopOffset(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, r);
    };
    int64_t r = begin;
    for (; r + 4 <= end; r += 4) {  // partial results are read and written once per four rows
      const T *a = row(r), *b = row(r + 1), *c = row(r + 2), *d = row(r + 3);
      for (int64_t j = 0; j < columns; ++j) {
        const P ab =
            R::template Combine<P>(R::template Map<T, P>(a[j]), R::template Map<T, P>(b[j]));
        const P cd =
            R::template Combine<P>(R::template Map<T, P>(c[j]), R::template Map<T, P>(d[j]));
        partial[j] = R::template Combine<P>(partial[j], R::template Combine<P>(ab, cd));
      }
    }
    for (; r < end; ++r) {
      const T* last = row(r);
      for (int64_t j = 0; j < columns; ++j)
        partial[j] = R::template Combine<P>(partial[j], R::template Map<T, P>(last[j]));
    }
    for (int64_t j = 0; j < columns; ++j)
      total[j] = R::template Combine<A>(total[j], static_cast<A>(partial[j]));
  }
  for (int64_t j = 0; j < columns; ++j) y[j] = R::template Finish<T>(total[j], plan.reduced_count);
}

// The outputs [begin, end).
template <typename R, typename T>
void RunReduce(const void* in, void* out, const ReducePlan& plan, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (plan.reduced_count == 0) {
    const TotalOf<R, T> nothing = R::template Initial<TotalOf<R, T>>();
    std::fill(y + begin, y + end, R::template Finish<T>(nothing, 0));
    return;
  }
  if (plan.innermost_is_reduced()) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, i);
      y[i] = R::template Finish<T>(ReduceContiguous<R>(from, plan), plan.reduced_count);
    }
    return;
  }
  const int64_t inner = plan.kept_rank > 0 ? plan.kept_dims[0] : 1;
  for (int64_t i = begin; i < end;) {
    const int64_t columns = std::min({end - i, inner - i % inner, kColumns});
    const T* from = x + LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, i);
    ReduceColumns<R>(from, y + i, plan, columns);
    i += columns;
  }
}

// log(sum(exp(x - m))) + m with m the largest element that is not infinite.
template <typename T>
void RunLogSumExp(const void* in, void* out, const ReducePlan& plan, int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  const T* x = static_cast<const T*>(in);
  for (int64_t i = begin; i < end; ++i) {
    const T* from = x + LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, i);
    const auto element = [&](int64_t r) {
      return static_cast<C>(
          from[LoopOffset(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, r)]);
    };
    C top = -std::numeric_limits<C>::infinity();
    for (int64_t r = 0; r < plan.reduced_count; ++r) {
      if (const C value = element(r); std::isfinite(value)) top = std::max(top, value);
    }
    if (!std::isfinite(top)) top = 0;
    double sum = 0;
    for (int64_t r = 0; r < plan.reduced_count; ++r)
      sum += static_cast<double>(std::exp(element(r) - top));
    static_cast<T*>(out)[i] = Convert<T>(std::log(sum) + static_cast<double>(top));
  }
}

using ReduceLoop = void (*)(const void* in, void* out, const ReducePlan& plan, int64_t begin,
                            int64_t end);

// The reductions of one element that are the element.
template <typename R>
inline constexpr bool kKeepsOne =
    std::is_same_v<R, Sum> || std::is_same_v<R, Mean> || std::is_same_v<R, Prod> || kIsExtreme<R>;

class Reduce : public Kernel {
 public:
  Reduce(ReduceLoop loop, bool keeps_one, ReduceAttributes attributes)
      : loop_(loop), keeps_one_(keeps_one), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    return BindReduce(context, attributes_, keeps_one_);
  }

  absl::Status Run(RunContext& context) const override {
    const ReducePlan& plan = context.state<ReducePlan>();
    const void* in = context.input(0).data;
    void* out = context.output(0).data;
    if (plan.keeps_elements) {
      if (in != out) CopyElements(context.input(0), context.output(0));
      return absl::OkStatus();
    }
    const int64_t work = std::max<int64_t>(1, plan.reduced_count);
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / work);
    context.ParallelFor(plan.kept_count, grain,
                        [&](int64_t begin, int64_t end) { loop_(in, out, plan, begin, end); });
    return absl::OkStatus();
  }

 private:
  ReduceLoop loop_;
  bool keeps_one_;
  ReduceAttributes attributes_;
};

using ReduceTypes = Concat<FloatTypes, TypeList<int32_t, int64_t, uint32_t, uint64_t>>;
using ExtremeTypes = Concat<ReduceTypes, TypeList<int8_t, uint8_t, bool>>;

absl::StatusOr<std::unique_ptr<Kernel>> MakeWithLoop(const NodeSpec& spec, ReduceLoop loop,
                                                     bool keeps_one) {
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Reduce>(loop, keeps_one, ReduceAttributes(spec));
}

template <typename R, typename Types>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const NodeSpec& spec) {
  ReduceLoop loop = nullptr;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { loop = RunReduce<R, typename decltype(tag)::type>; });
  return MakeWithLoop(spec, loop, kKeepsOne<R>);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLogSumExp(const NodeSpec& spec) {
  ReduceLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunLogSumExp<typename decltype(tag)::type>; });
  return MakeWithLoop(spec, loop, false);
}

constexpr KernelEntry kKernels[] = {
    {"", "ReduceL1", "reduce_l1_reference", MakeReduce<L1, ReduceTypes>},
    {"", "ReduceL2", "reduce_l2_reference", MakeReduce<L2, ReduceTypes>},
    {"", "ReduceLogSum", "reduce_log_sum_reference", MakeReduce<LogSum, FloatTypes>},
    {"", "ReduceLogSumExp", "reduce_log_sum_exp_reference", MakeLogSumExp},
    {"", "ReduceMax", "reduce_max_reference", MakeReduce<Maximum, ExtremeTypes>},
    {"", "ReduceMean", "reduce_mean_reference", MakeReduce<Mean, ReduceTypes>},
    {"", "ReduceMin", "reduce_min_reference", MakeReduce<Minimum, ExtremeTypes>},
    {"", "ReduceProd", "reduce_prod_reference", MakeReduce<Prod, ReduceTypes>},
    {"", "ReduceSum", "reduce_sum_reference", MakeReduce<Sum, ReduceTypes>},
    {"", "ReduceSumSquare", "reduce_sum_square_reference", MakeReduce<SumSquare, ReduceTypes>},
};

}  // namespace

KernelList ReferenceReduce() { return kKernels; }

}  // namespace onward::kernels::cpu
