// The reductions of float32 over axes but ReduceProd, on the vectors of one instruction set.
#include "kernels/bind/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/reduce_loops.h"

namespace onward::kernels::cpu {
namespace {

enum class Reduction : uint8_t {
  kMax,
  kMin,
  kLogSumExp,
  // Sums; the total is then finished.
  kSum,
  kMean,
  kL1,
  kL2,
  kSumSquare,
  kLogSum,
};

constexpr bool IsSum(Reduction reduction) { return reduction >= Reduction::kSum; }

constexpr Addend AddendOf(Reduction reduction) {
  if (reduction == Reduction::kL1) return Addend::kMagnitude;
  const bool squares = reduction == Reduction::kL2 || reduction == Reduction::kSumSquare;
  return squares ? Addend::kSquare : Addend::kItself;
}

constexpr int64_t kColumns = 256;  // reduced side by side
constexpr int64_t kBlock = 512;    // rows whose sums are added in float

class FloatReduce : public Kernel {
 public:
  FloatReduce(const ReduceLoops& loops, Reduction reduction, ReduceAttributes attributes)
      : loops_(loops),
        reduction_(reduction),
        addend_(static_cast<int>(AddendOf(reduction))),
        attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    const bool keeps_one = reduction_ == Reduction::kSum || reduction_ == Reduction::kMean ||
                           reduction_ == Reduction::kMax || reduction_ == Reduction::kMin;
    return BindReduce(context, attributes_, keeps_one);
  }

  absl::Status Run(RunContext& context) const override {
    const ReducePlan& plan = context.state<ReducePlan>();
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    if (plan.keeps_elements) {
      if (x != y) CopyElements(context.input(0), context.output(0));
      return absl::OkStatus();
    }
    if (plan.reduced_count == 0) {
      std::fill_n(y, plan.kept_count, OfNone());
      return absl::OkStatus();
    }
    if (plan.kept_count == 0) return absl::OkStatus();
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / plan.reduced_count);
    if (plan.innermost_is_reduced()) {
      context.ParallelFor(plan.kept_count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          y[i] = ReduceRuns(plan,
                            x + LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, i));
        }
      });
      return absl::OkStatus();
    }
    const int64_t inner = plan.kept_rank > 0 ? plan.kept_dims[0] : 1;
    const int64_t tiles = CeilDiv(inner, kColumns);
    const int64_t tile_grain = std::max<int64_t>(1, grain / std::min(inner, kColumns));
    context.ParallelFor(
        plan.kept_count / inner * tiles, tile_grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % tiles * kColumns;
            const int64_t at = i / tiles * inner + first;
            const float* from =
                x + LoopOffset(plan.kept_rank, plan.kept_dims, plan.kept_strides, at);
            ReduceColumns(plan, from, std::min(kColumns, inner - first), y + at);
          }
        });
    return absl::OkStatus();
  }

 private:
  float OfNone() const {
    if (IsSum(reduction_)) return Finish(0, 0);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return reduction_ == Reduction::kMin ? kInfinity : -kInfinity;
  }
  float Further(float a, float b) const {
    if (a != a || b != b) return std::numeric_limits<float>::quiet_NaN();
    return reduction_ == Reduction::kMin ? std::min(a, b) : std::max(a, b);
  }

  float Finish(double total, int64_t count) const {
    if (reduction_ == Reduction::kMean) total /= static_cast<double>(count);
    if (reduction_ == Reduction::kL2) total = std::sqrt(total);
    if (reduction_ == Reduction::kLogSum) total = std::log(total);
    return static_cast<float>(total);
  }

  // One output whose innermost reduced loop is contiguous.
  float ReduceRuns(const ReducePlan& plan, const float* x) const {
    const int64_t run = plan.reduced_dims[0], runs = plan.reduced_count / run;
    const auto at = [&](int64_t r) {
      return x +
             LoopOffset(plan.reduced_rank - 1, plan.reduced_dims + 1, plan.reduced_strides + 1, r);
    };
    if (IsSum(reduction_)) {
      double total = 0;
      for (int64_t r = 0; r < runs; ++r) total += loops_.sum[addend_](at(r), run);
      return Finish(total, plan.reduced_count);
    }
    const auto extreme = reduction_ == Reduction::kMin ? loops_.min : loops_.max;
    float top = extreme(x, run);
    for (int64_t r = 1; r < runs; ++r) top = Further(top, extreme(at(r), run));
    // The logarithm of infinite sums, and of sums of nothing but 0, is the greatest element itself.
    if (reduction_ != Reduction::kLogSumExp || !std::isfinite(top)) return top;
    double sum = 0;
    for (int64_t r = 0; r < runs; ++r) sum += loops_.sum_exp(at(r), run, top);
    return static_cast<float>(std::log(sum) + static_cast<double>(top));
  }

  // `columns` neighbouring outputs whose inputs are contiguous.
  void ReduceColumns(const ReducePlan& plan, const float* x, int64_t columns, float* y) const {
    const auto row = [&](int64_t r) {
      return x + LoopOffset(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, r);
    };
    double sums[kColumns];
    if (IsSum(reduction_)) {
      AddRows(plan, row, columns, sums, [&](const float* from, float* partial) {
        loops_.add[addend_](from, columns, partial);
      });
      for (int64_t j = 0; j < columns; ++j) y[j] = Finish(sums[j], plan.reduced_count);
      return;
    }
    float top[kColumns];
    std::copy_n(x, columns, top);
    const auto into = reduction_ == Reduction::kMin ? loops_.min_into : loops_.max_into;
    for (int64_t r = 1; r < plan.reduced_count; ++r) into(row(r), columns, top);
    if (reduction_ != Reduction::kLogSumExp) return static_cast<void>(std::copy_n(top, columns, y));
    AddRows(plan, row, columns, sums, [&](const float* from, float* partial) {
      loops_.add_exp(from, top, columns, partial);
    });
    for (int64_t j = 0; j < columns; ++j) {
      y[j] = std::isfinite(top[j])
                 ? static_cast<float>(std::log(sums[j]) + static_cast<double>(top[j]))
                 : top[j];
    }
  }

  // sums = what `add` adds of each reduced row, some rows in float before they are in double.
  template <typename RowAt, typename Add>
  static void AddRows(const ReducePlan& plan, const RowAt& row, int64_t columns, double* sums,
                      const Add& add) {
    float partial[kColumns];
    std::fill_n(sums, columns, 0.0);
    for (int64_t begin = 0; begin < plan.reduced_count; begin += kBlock) {
      std::fill_n(partial, columns, 0.0f);
      const int64_t end = std::min(plan.reduced_count, begin + kBlock);
      for (int64_t r = begin; r < end; ++r) add(row(r), partial);
      for (int64_t j = 0; j < columns; ++j) sums[j] += static_cast<double>(partial[j]);
    }
  }

  const ReduceLoops& loops_;
  Reduction reduction_;
  int addend_;
  ReduceAttributes attributes_;
};

template <Reduction kReduction>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat32) return absl::UnimplementedError("float32 only");
  return std::make_unique<FloatReduce>(kReductionsPerTarget.For(TargetOf(spec))(), kReduction,
                                       ReduceAttributes(spec));
}

template <Reduction kReduction>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, Make<kReduction>, kVectorTargets};
}

constexpr KernelEntry kKernels[] = {
    Row<Reduction::kL1>("ReduceL1", "reduce_l1"),
    Row<Reduction::kL2>("ReduceL2", "reduce_l2"),
    Row<Reduction::kLogSum>("ReduceLogSum", "reduce_log_sum"),
    Row<Reduction::kLogSumExp>("ReduceLogSumExp", "reduce_log_sum_exp"),
    Row<Reduction::kMax>("ReduceMax", "reduce_max"),
    Row<Reduction::kMean>("ReduceMean", "reduce_mean"),
    Row<Reduction::kMin>("ReduceMin", "reduce_min"),
    Row<Reduction::kSum>("ReduceSum", "reduce_sum"),
    Row<Reduction::kSumSquare>("ReduceSumSquare", "reduce_sum_square"),
};

}  // namespace

KernelList ReduceKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
