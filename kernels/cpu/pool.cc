// MaxPool and AveragePool over one or two spatial axes and the global pools in float32, one plane
// at a time: rows of a window are combined first, then columns.
#include "kernels/shapes/pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/pool_plane.h"

namespace onward::kernels::cpu {
namespace {

// Elements that one thread takes at a time: about 10 us.
constexpr int64_t kGrain = 32 * 1024;

struct PoolState {
  PoolPlane plane;  // without x and y
  int64_t planes, input_size, output_size, scratch;
};

// What an average divides by at each output of an axis.
float* Counts(BindContext& context, const WindowAxis& axis, bool include_pad) {
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

class Pool : public Kernel {
 public:
  Pool(PoolAttributes attributes, bool average, Target target)
      : attributes_(std::move(attributes)),
        average_(average),
        kernels_(kPoolsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, context.input_dims(0)));
    context.SetOutput(0, g.output);
    const WindowAxis rows = g.axes.size() == 2 ? g.axes[0] : WindowAxis{1, 1};
    const WindowAxis columns = g.axes.back();
    auto* s = context.NewState<PoolState>();
    s->planes = g.planes;
    s->input_size = g.input_size();
    s->output_size = g.output_size();
    PoolPlane& p = s->plane;
    p.in_rows = rows.input, p.in_columns = columns.input;
    p.out_rows = rows.output, p.out_columns = columns.output;
    p.kernel_rows = rows.kernel, p.kernel_columns = columns.kernel;
    p.stride_rows = rows.stride, p.stride_columns = columns.stride;
    p.dilation_rows = rows.dilation, p.dilation_columns = columns.dilation;
    p.pad_rows = rows.pad_begin, p.pad_columns = columns.pad_begin;
    if (average_) {
      p.row_counts = Counts(context, rows, attributes_.count_include_pad);
      p.column_counts = Counts(context, columns, attributes_.count_include_pad);
    }
    s->scratch = PoolScratch(p);
    context.SetScratch(context.num_workers() * s->scratch * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolState>();
    if (s.output_size == 0) return absl::OkStatus();
    const int64_t work = s.input_size + s.output_size * s.plane.kernel_columns;
    const int64_t grain = std::max<int64_t>(1, kGrain / (work + 1));
    context.ParallelForWorkers(s.planes, grain, [&](int worker, int64_t begin, int64_t end) {
      PoolPlane plane = s.plane;
      float* scratch = context.scratch<float>() + worker * s.scratch;
      for (int64_t i = begin; i < end; ++i) {
        plane.x = context.in<float>(0) + i * s.input_size;
        plane.y = context.out<float>(0) + i * s.output_size;
        (average_ ? kernels_.average : kernels_.max)(plane, scratch);
      }
    });
    return absl::OkStatus();
  }

 private:
  PoolAttributes attributes_;
  bool average_;
  const PoolPlaneKernels& kernels_;
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
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const int64_t grain = std::max<int64_t>(1, 2 * kGrain / (s.size + 1));
    context.ParallelFor(s.planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = average_ ? kernels_.sum(x + i * s.size, s.size) / static_cast<float>(s.size)
                        : kernels_.largest(x + i * s.size, s.size);
      }
    });
    return absl::OkStatus();
  }

 private:
  bool average_;
  const PoolPlaneKernels& kernels_;
};

template <bool kAverage>
absl::StatusOr<std::unique_ptr<Kernel>> MakePool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() > 2 || spec.has_output(1))
    return absl::UnimplementedError("one or two spatial axes, without Indices");
  // Columns are split into one row per phase of the stride.
  for (int64_t stride : attributes.window.strides) {
    if (stride > 64) return absl::UnimplementedError("strides up to 64");
  }
  return std::make_unique<Pool>(std::move(attributes), kAverage, TargetOf(spec));
}

template <bool kAverage>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<GlobalPool>(kAverage, TargetOf(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxPool", "max_pool", MakePool<false>, kVectorTargets},
    {"", "AveragePool", "average_pool", MakePool<true>, kVectorTargets},
    {"", "GlobalAveragePool", "global_average_pool", MakeGlobalPool<true>, kVectorTargets},
    {"", "GlobalMaxPool", "global_max_pool", MakeGlobalPool<false>, kVectorTargets},
};

}  // namespace

KernelList PoolKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
