// onward.AdafactorStep (graph/optimizers/adafactor.cc) in place: passes over the gradient for the
// means of squares, for the size of the change, and over the parameter. Single elements and tiny
// matrices take one pass less.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/bind/optimizer_steps.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/optimizer_steps.h"
#include "kernels/cpu/simd/scaled_steps.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kBlockColumns = 8192, kMostBlockRows = 1024;

// How a parameter is cut, by its shape alone.
struct AdafactorPlan {
  int64_t matrices = 1, rows = 0, columns = 1;
  // Pieces of whole elements or tiny matrices, `piece` of them each; or blocks of a matrix.
  bool whole = true;
  int64_t count = 0, piece = 1;
  int64_t block_rows = 1, row_blocks = 0, column_blocks = 0;

  bool units() const { return rows * columns == 1; }
  int64_t pieces() const {
    return whole ? CeilDiv(count, piece) : matrices * row_blocks * column_blocks;
  }
  int64_t grain() const {
    const int64_t size = std::min(rows, block_rows) * std::min(columns, kBlockColumns);
    return whole ? 1 : std::max<int64_t>(1, 2 * kStepGrain / std::max<int64_t>(1, size));
  }
  int64_t row_sums() const { return whole ? 0 : matrices * rows * column_blocks; }
  int64_t column_sums() const { return whole ? 0 : matrices * columns * row_blocks; }
  int64_t row_means() const { return whole ? 0 : matrices; }
};

AdafactorPlan PlanOf(DimsView dims) {
  AdafactorPlan plan;
  if (dims.size() < 2) {
    plan.count = plan.rows = NumElements(dims);
    plan.piece = kStepGrain;
    return plan;
  }
  const auto rank = static_cast<int64_t>(dims.size());
  plan.rows = dims[rank - 2];
  plan.columns = dims[rank - 1];
  plan.matrices = NumElements(dims, 0, rank - 2);
  const int64_t size = plan.rows * plan.columns;
  if (size > 0 && size <= kTinyMatrix) {
    plan.count = plan.matrices;
    plan.piece = CeilDiv(kStepGrain / size, 16) * 16;
    return plan;
  }
  plan.whole = false;
  const int64_t width = std::min(plan.columns, kBlockColumns);
  plan.block_rows =
      std::clamp<int64_t>(2 * kStepGrain / std::max<int64_t>(1, width), 32, kMostBlockRows);
  plan.row_blocks = CeilDiv(plan.rows, plan.block_rows);
  plan.column_blocks = CeilDiv(plan.columns, kBlockColumns);
  return plan;
}

// The memory of one run.
template <typename T>
struct Scratch {
  StepSums* pieces;
  T *row_sums, *column_sums, *row_means;
};

// A block and where it lies in its matrix.
template <typename T>
struct PlacedBlock {
  AdafactorBlock<T> block;
  int64_t matrix, row, column, row_block, column_block;
};

template <typename T>
PlacedBlock<T> BlockAt(const AdafactorPlan& plan, const AdafactorArrays<T>& a, int64_t piece) {
  PlacedBlock<T> at;
  at.column_block = piece % plan.column_blocks;
  at.row_block = piece / plan.column_blocks % plan.row_blocks;
  at.matrix = piece / plan.column_blocks / plan.row_blocks;
  at.row = at.row_block * plan.block_rows;
  at.column = at.column_block * kBlockColumns;
  const int64_t offset = (at.matrix * plan.rows + at.row) * plan.columns + at.column;
  at.block = {a.p + offset,
              a.g + offset,
              a.out + offset,
              std::min(plan.block_rows, plan.rows - at.row),
              std::min(kBlockColumns, plan.columns - at.column),
              plan.columns};
  return at;
}

template <typename T>
T Follow(T from, double mean, T weight) {
  return from + weight * (static_cast<T>(mean) - from);
}

template <typename T>
class AdafactorStep : public Kernel {
 public:
  AdafactorStep(const ScaledStepLoops<T>& loops, bool maximize, bool matrices)
      : loops_(loops), maximize_(maximize), matrices_(matrices) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    if (matrices_ != (dims.size() > 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter has shape ", DimsString(dims), " and ",
                       matrices_ ? "squares of rows and columns" : "no squares of columns"));
    }
    ONWARD_RETURN_IF_ERROR(CheckStepDims(context, 1, dims));
    ONWARD_RETURN_IF_ERROR(CheckSettings(context, AdafactorSettings::kCount));
    context.SetOutput(0, dims);
    context.AllowInPlace(0, 0);
    for (int state = 0; state < 1 + matrices_; ++state) {
      Dims means(dims.begin(), dims.end());
      if (matrices_) means[dims.size() - 1 - static_cast<size_t>(state)] = 1;
      ONWARD_RETURN_IF_ERROR(CheckStepDims(context, 4 + state, means));
      context.SetOutput(1 + state, means);
      context.AllowInPlace(1 + state, 4 + state);
    }
    auto* plan = context.NewState<AdafactorPlan>();
    *plan = PlanOf(dims);
    context.SetScratch(plan->pieces() * static_cast<int64_t>(sizeof(StepSums)) +
                       (plan->row_sums() + plan->column_sums() + plan->row_means()) *
                           static_cast<int64_t>(sizeof(T)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<AdafactorPlan>();
    const double* settings = context.in<double>(2);
    const auto step = static_cast<double>(*context.in<int64_t>(3));
    AdafactorNumbers<T> n;
    n.weight = static_cast<T>(std::pow(step, settings[AdafactorSettings::kBeta2Decay]));
    n.epsilon1 = static_cast<T>(settings[AdafactorSettings::kEps1]);
    n.floor =
        static_cast<T>(settings[AdafactorSettings::kEps1] * settings[AdafactorSettings::kEps1]);
    n.shrink = static_cast<T>(1 - settings[AdafactorSettings::kLr] *
                                      settings[AdafactorSettings::kWeightDecay]);
    AdafactorArrays<T> a = {context.in<T>(0), context.in<T>(1),  context.in<T>(4),
                            nullptr,          context.out<T>(0), context.out<T>(1),
                            nullptr,          plan.rows,         plan.columns};
    if (matrices_) {
      a.column_squares = context.in<T>(5);
      a.next_column_squares = context.out<T>(2);
    }
    Scratch<T> scratch;
    scratch.pieces = context.scratch<StepSums>();
    scratch.row_sums = reinterpret_cast<T*>(scratch.pieces + plan.pieces());
    scratch.column_sums = scratch.row_sums + plan.row_sums();
    scratch.row_means = scratch.column_sums + plan.column_sums();
    plan.whole ? Whole(context, plan, n, a, scratch) : Squares(context, plan, n, a, scratch);
    if (!plan.whole) Changes(context, plan, n, a, scratch);

    StepSums all;
    for (int64_t i = 0; i < plan.pieces(); ++i) {
      all.parameter += scratch.pieces[i].parameter;
      all.change += scratch.pieces[i].change;
    }
    // NaN stays NaN.
    const auto elements = static_cast<double>(context.input(0).num_elements());
    const double scale =
        std::max(std::sqrt(all.parameter / elements), settings[AdafactorSettings::kEps2]);
    const double excess =
        std::max(std::sqrt(all.change / elements) / settings[AdafactorSettings::kD], 1.0);
    const double rate =
        scale * std::min(settings[AdafactorSettings::kLr], 1 / std::sqrt(step)) / excess;
    Apply(context, plan, n, static_cast<T>(maximize_ ? -rate : rate), a, scratch);
    return absl::OkStatus();
  }

 private:
  void Whole(RunContext& context, const AdafactorPlan& plan, const AdafactorNumbers<T>& n,
             const AdafactorArrays<T>& a, const Scratch<T>& scratch) const {
    const auto squares = !matrices_     ? loops_.elements_squares
                         : plan.units() ? loops_.units_squares
                                        : loops_.tiny_squares;
    context.ParallelFor(plan.pieces(), 1, [&](int64_t piece, int64_t end) {
      for (; piece < end; ++piece) {
        scratch.pieces[piece] =
            squares(n, a, piece * plan.piece, std::min(plan.count, (piece + 1) * plan.piece));
      }
    });
  }

  // The next means of squares.
  void Squares(RunContext& context, const AdafactorPlan& plan, const AdafactorNumbers<T>& n,
               const AdafactorArrays<T>& a, const Scratch<T>& scratch) const {
    context.ParallelFor(plan.pieces(), plan.grain(), [&](int64_t piece, int64_t end) {
      for (; piece < end; ++piece) {
        const PlacedBlock<T> at = BlockAt(plan, a, piece);
        T* rows = scratch.row_sums +
                  (at.matrix * plan.column_blocks + at.column_block) * plan.rows + at.row;
        T* columns = scratch.column_sums +
                     (at.matrix * plan.row_blocks + at.row_block) * plan.columns + at.column;
        scratch.pieces[piece].parameter = loops_.block_squares(at.block, rows, columns);
      }
    });
    FollowAll(context, plan.matrices, plan.rows, plan.column_blocks, plan.columns, n.weight,
              scratch.row_sums, a.row_squares, a.next_row_squares);
    FollowAll(context, plan.matrices, plan.columns, plan.row_blocks, plan.rows, n.weight,
              scratch.column_sums, a.column_squares, a.next_column_squares);
    for (int64_t m = 0; m < plan.matrices; ++m) {
      double sum = 0;
      for (int64_t r = 0; r < plan.rows; ++r)
        sum += static_cast<double>(a.next_row_squares[m * plan.rows + r]);
      const T mean = static_cast<T>(sum / static_cast<double>(plan.rows));
      scratch.row_means[m] = mean < n.epsilon1 ? n.epsilon1 : mean;
    }
  }

  // Means of `count` values a matrix, whose sums are in `parts` parts, follow those so far.
  static void FollowAll(RunContext& context, int64_t matrices, int64_t count, int64_t parts,
                        int64_t added, T weight, const T* sums, const T* from, T* to) {
    constexpr int64_t kPiece = 512;
    const int64_t per_matrix = CeilDiv(count, kPiece);
    const int64_t grain = std::max<int64_t>(1, kStepGrain / std::max<int64_t>(1, kPiece * parts));
    context.ParallelFor(matrices * per_matrix, grain, [&](int64_t piece, int64_t end) {
      double totals[kPiece];
      for (; piece < end; ++piece) {
        const int64_t m = piece / per_matrix, begin = piece % per_matrix * kPiece;
        const int64_t n = std::min(kPiece, count - begin), at = m * count + begin;
        std::fill_n(totals, n, 0.0);
        for (int64_t part = 0; part < parts; ++part) {
          const T* row = sums + (m * parts + part) * count + begin;
          for (int64_t i = 0; i < n; ++i) totals[i] += static_cast<double>(row[i]);
        }
        for (int64_t i = 0; i < n; ++i)
          to[at + i] = Follow(from[at + i], totals[i] / static_cast<double>(added), weight);
      }
    });
  }

  struct Roots {
    T rows[kMostBlockRows], columns[kBlockColumns];
  };
  AdafactorRoots<T> RootsOf(const AdafactorPlan& plan, const AdafactorNumbers<T>& n,
                            const AdafactorArrays<T>& a, const PlacedBlock<T>& at, T mean,
                            Roots& roots) const {
    loops_.inverse_roots(a.next_row_squares + at.matrix * plan.rows + at.row, at.block.rows,
                         roots.rows);
    loops_.inverse_roots(a.next_column_squares + at.matrix * plan.columns + at.column,
                         at.block.columns, roots.columns);
    return {roots.rows, roots.columns, 1 / std::sqrt(n.floor * mean)};
  }

  // Backwards, as the pass that follows goes the other way again: the last pieces are still in the
  // caches.
  void Changes(RunContext& context, const AdafactorPlan& plan, const AdafactorNumbers<T>& n,
               const AdafactorArrays<T>& a, const Scratch<T>& scratch) const {
    context.ParallelFor(plan.pieces(), plan.grain(), [&](int64_t i, int64_t end) {
      Roots memory;
      for (; i < end; ++i) {
        const int64_t piece = plan.pieces() - 1 - i;
        const PlacedBlock<T> at = BlockAt(plan, a, piece);
        const T mean = scratch.row_means[at.matrix];
        const auto roots = RootsOf(plan, n, a, at, mean, memory);
        scratch.pieces[piece].change =
            static_cast<double>(mean) * loops_.block_changes(at.block, roots);
      }
    });
  }

  void Apply(RunContext& context, const AdafactorPlan& plan, const AdafactorNumbers<T>& n, T rate,
             const AdafactorArrays<T>& a, const Scratch<T>& scratch) const {
    const auto apply = !matrices_     ? loops_.elements_apply
                       : plan.units() ? loops_.units_apply
                                      : loops_.tiny_apply;
    const int64_t pieces = plan.pieces();
    context.ParallelFor(pieces, plan.grain(), [&](int64_t i, int64_t end) {
      Roots memory;
      for (; i < end; ++i) {
        const int64_t piece = plan.whole ? pieces - 1 - i : i;
        if (plan.whole) {
          apply(n, rate, a, piece * plan.piece, std::min(plan.count, (piece + 1) * plan.piece));
          continue;
        }
        const PlacedBlock<T> at = BlockAt(plan, a, piece);
        const T mean = scratch.row_means[at.matrix];
        const auto roots = RootsOf(plan, n, a, at, mean, memory);
        loops_.block_apply(at.block, roots, n.shrink, rate * std::sqrt(mean));
      }
    });
  }

  const ScaledStepLoops<T>& loops_;
  bool maximize_, matrices_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAdafactor(const NodeSpec& spec) {
  const bool matrices = spec.num_inputs() > 5;
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, matrices ? 2 : 1));
  const bool maximize = spec.attributes().Int("maximize", 0) != 0;
  if (spec.input_dtype(0) == DType::kFloat32) {
    return std::make_unique<AdafactorStep<float>>(kFloatStepsPerTarget.For(TargetOf(spec))(),
                                                  maximize, matrices);
  }
  return std::make_unique<AdafactorStep<double>>(kDoubleStepsPerTarget.For(TargetOf(spec))(),
                                                 maximize, matrices);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AdafactorStep", "adafactor_step", MakeAdafactor, kVectorTargets},
};

}  // namespace

KernelList AdafactorKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
