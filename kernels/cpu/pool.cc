// MaxPool, AveragePool and LpPool and the global pools in float32, one plane at a time: rows of a
// window are combined first, then columns.
#include "kernels/bind/pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/pool_plane.h"
#include "kernels/cpu/simd/pool_rows.h"

namespace onward::kernels::cpu {
namespace {

// Elements that one thread takes at a time: about 10 us.
constexpr int64_t kGrain = 32 * 1024;

struct PoolState {
  PoolRows rows;  // without x and y
  int64_t planes, input_size, columns;
  int64_t rows_per_plane, rows_per_piece, pieces_per_plane, grain;  // in pieces
  int64_t scratch;                                                  // floats of a worker
  bool whole;                                                       // a window is a plane
};

// What an average divides by at each output of an axis.
const float* Counts(BindContext& context, const WindowAxis& axis, bool include_pad) {
  float* counts = context.NewArray<float>(axis.output);
  WindowAxis padded = axis;
  padded.input += axis.pad_begin + axis.pad_end;
  for (int64_t o = 0; o < axis.output; ++o) {
    const int64_t start = axis.start(o);
    const int64_t count = include_pad ? padded.last_tap(o * axis.stride)
                                      : axis.last_tap(start) - axis.first_tap(start);
    counts[o] = static_cast<float>(std::max<int64_t>(count, 1));
  }
  return counts;
}

// Pieces depend on the sizes alone.
void CutPlanes(const PoolGeometry& g, PoolState& s) {
  const WindowAxis& columns = g.axes.back();
  s.planes = g.planes;
  s.input_size = g.input_size();
  s.columns = columns.output;
  s.rows_per_plane = columns.output == 0 ? 0 : g.output_size() / columns.output;
  int64_t row_taps = 1;
  for (size_t i = 0; i + 1 < g.axes.size(); ++i) row_taps *= g.axes[i].kernel;
  const int64_t row_work = row_taps * columns.input + columns.kernel * columns.output + 1;
  s.rows_per_piece = EvenPiece(s.rows_per_plane, std::max<int64_t>(1, kGrain / row_work));
  s.pieces_per_plane = CeilDiv(s.rows_per_plane, s.rows_per_piece);
  s.grain = std::max<int64_t>(1, kGrain / (s.rows_per_piece * row_work));
}

enum class PoolKind : uint8_t { kMax, kAverage, kNorm1, kNorm2, kMaxWithIndices };

PoolLoop LoopOf(PoolKind kind, Target target) {
  const PoolRowLoops& loops = kRowPoolsPerTarget.For(target)();
  switch (kind) {
    case PoolKind::kMax:
      return loops.max;
    case PoolKind::kAverage:
      return loops.average;
    case PoolKind::kNorm1:
      return loops.norm1;
    case PoolKind::kNorm2:
      return loops.norm2;
    case PoolKind::kMaxWithIndices:
      return loops.max_with_indices;
  }
  return nullptr;
}

// Averages, or maxima, of whole planes of `size` elements.
void PoolWholePlanes(const RunContext& context, const PoolPlaneKernels& kernels, bool average,
                     int64_t planes, int64_t size) {
  const float* x = context.in<float>(0);
  float* y = context.out<float>(0);
  const int64_t grain = std::max<int64_t>(1, 2 * kGrain / (size + 1));
  context.ParallelFor(planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = average ? kernels.sum(x + i * size, size) / static_cast<float>(size)
                     : kernels.largest(x + i * size, size);
    }
  });
}

bool IsWholePlane(const PoolGeometry& g) {
  return std::all_of(g.axes.begin(), g.axes.end(), [](const WindowAxis& axis) {
    return axis.kernel == axis.input && axis.dilation == 1 && axis.output == 1 &&
           axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

class Pool : public Kernel {
 public:
  Pool(PoolAttributes attributes, PoolKind kind, Target target)
      : attributes_(std::move(attributes)),
        kind_(kind),
        loop_(LoopOf(kind, target)),
        planes_(kPoolsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, context.input_dims(0)));
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, g.output);
    auto* axes = context.NewArray<PoolAxis>(static_cast<int64_t>(g.axes.size()));
    for (size_t i = 0; i < g.axes.size(); ++i) {
      const WindowAxis& a = g.axes[i];
      axes[i] = {a.input, a.output, a.kernel, a.stride, a.dilation, a.pad_begin, nullptr};
      if (kind_ == PoolKind::kAverage)
        axes[i].counts = Counts(context, a, attributes_.count_include_pad);
    }
    auto* s = context.NewState<PoolState>();
    s->rows.axes = axes;
    s->rows.num_axes = static_cast<int>(g.axes.size());
    s->scratch = PlanPoolRows(s->rows);
    CutPlanes(g, *s);
    s->whole = IsWholePlane(g) && (kind_ == PoolKind::kMax || kind_ == PoolKind::kAverage);
    context.SetScratch(context.num_workers() * s->scratch * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolState>();
    if (s.whole) {
      PoolWholePlanes(context, planes_, kind_ == PoolKind::kAverage, s.planes, s.input_size);
      return absl::OkStatus();
    }
    context.ParallelForWorkers(
        s.planes * s.pieces_per_plane, s.grain, [&](int worker, int64_t begin, int64_t end) {
          PoolRows rows = s.rows;
          float* scratch = context.scratch<float>() + worker * s.scratch;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t plane = i / s.pieces_per_plane;
            const int64_t first = i % s.pieces_per_plane * s.rows_per_piece;
            rows.x = context.in<float>(0) + plane * s.input_size;
            rows.y = context.out<float>(0) + plane * s.rows_per_plane * s.columns;
            rows.first_index = plane * s.input_size;
            if (kind_ == PoolKind::kMaxWithIndices)
              rows.indices = context.out<int64_t>(1) + plane * s.rows_per_plane * s.columns;
            loop_(rows, first, std::min(s.rows_per_plane, first + s.rows_per_piece), scratch);
          }
        });
    return absl::OkStatus();
  }

 private:
  PoolAttributes attributes_;
  PoolKind kind_;
  PoolLoop loop_;
  const PoolPlaneKernels& planes_;
};

struct GlobalState {
  int64_t planes, size;
};

class GlobalPool : public Kernel {
 public:
  GlobalPool(bool average, Target target)
      : average_(average), kernels_(kPoolsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const Dims output, GlobalPoolDims(x));
    context.SetOutput(0, output);
    *context.NewState<GlobalState>() = {x[0] * x[1], NumElements(x.subspan(2))};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<GlobalState>();
    PoolWholePlanes(context, kernels_, average_, s.planes, s.size);
    return absl::OkStatus();
  }

 private:
  bool average_;
  const PoolPlaneKernels& kernels_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakePoolOf(const NodeSpec& spec, PoolKind kind,
                                                   PoolAttributes attributes) {
  if (attributes.window.kernel.size() > kMostPoolAxes)
    return absl::UnimplementedError(absl::StrCat("up to ", kMostPoolAxes, " spatial axes"));
  // Columns are split into one row per phase of the stride.
  for (int64_t stride : attributes.window.strides) {
    if (stride > 64) return absl::UnimplementedError("strides up to 64");
  }
  return std::make_unique<Pool>(std::move(attributes), kind, TargetOf(spec));
}

template <PoolKind kKind>
absl::StatusOr<std::unique_ptr<Kernel>> MakePool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (!spec.has_output(1)) return MakePoolOf(spec, kKind, std::move(attributes));
  if (attributes.column_major) return absl::UnimplementedError("Indices in order of rows");
  return MakePoolOf(spec, PoolKind::kMaxWithIndices, std::move(attributes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLpPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.p != 1 && attributes.p != 2) return absl::UnimplementedError("p of 1 or 2");
  const PoolKind kind = attributes.p == 1 ? PoolKind::kNorm1 : PoolKind::kNorm2;
  return MakePoolOf(spec, kind, std::move(attributes));
}

template <bool kAverage>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<GlobalPool>(kAverage, TargetOf(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxPool", "max_pool", MakePool<PoolKind::kMax>, kVectorTargets},
    {"", "AveragePool", "average_pool", MakePool<PoolKind::kAverage>, kVectorTargets},
    {"", "LpPool", "lp_pool", MakeLpPool, kVectorTargets},
    {"", "GlobalAveragePool", "global_average_pool", MakeGlobalPool<true>, kVectorTargets},
    {"", "GlobalMaxPool", "global_max_pool", MakeGlobalPool<false>, kVectorTargets},
};

}  // namespace

KernelList PoolKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
