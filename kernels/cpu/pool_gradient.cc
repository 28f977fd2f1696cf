// The gradient of MaxPool over one or two spatial axes in float32, one plane at a time. X may be
// kept in 16 bits.
#include "kernels/bind/pool_gradient.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/simd/pool_plane.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // window elements that one thread takes at a time

struct PoolGradientState {
  WindowAxis rows, columns;
  int64_t planes, input_size, output_size;
  const int64_t* ranges;        // per tap of a row: the windows [begin, end) that it lies in
  const int32_t* first_column;  // per window of a row: where its first tap reads, -1: none does
  bool squares;                 // windows of 2 x 2 that lie beside each other
  int64_t widened_floats;       // of a worker: a plane, where X is narrow

  int64_t worker_floats() const { return 2 * columns.output + widened_floats; }
};

bool IsPair(const WindowAxis& axis) {
  return axis.kernel == 2 && axis.stride == 2 && axis.dilation == 1 && axis.pad_begin == 0 &&
         2 * axis.output <= axis.input;
}

class MaxPoolGradient : public Kernel {
 public:
  MaxPoolGradient(PoolAttributes attributes, Target target, bool narrow)
      : attributes_(std::move(attributes)),
        narrow_(narrow),
        pools_(kPoolsPerTarget.For(target)()) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, BindMaxPoolGradient(context, attributes_));
    auto* s = context.NewState<PoolGradientState>();
    s->rows = g.axes.size() == 2 ? g.axes[0] : WindowAxis{1, 1};
    s->columns = g.axes.back();
    s->widened_floats = narrow_ ? g.input_size() : 0;
    context.SetScratch(context.num_workers() * s->worker_floats() *
                       static_cast<int64_t>(sizeof(float)));
    auto* ranges = context.NewArray<int64_t>(2 * s->columns.kernel);
    for (int64_t l = 0; l < s->columns.kernel; ++l)
      OutputsOfTap(s->columns, l, &ranges[2 * l], &ranges[2 * l + 1]);
    auto* first = context.NewArray<int32_t>(s->columns.output);
    for (int64_t j = 0; j < s->columns.output; ++j) {
      const int64_t left = s->columns.start(j), l = s->columns.first_tap(left);
      first[j] = l >= s->columns.last_tap(left)
                     ? -1
                     : static_cast<int32_t>(left + l * s->columns.dilation);
    }
    s->ranges = ranges;
    s->first_column = first;
    s->squares = IsPair(s->rows) && IsPair(s->columns);
    s->planes = g.planes;
    s->input_size = g.input_size();
    s->output_size = g.output_size();
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolGradientState>();
    const int64_t work = s.input_size + s.output_size * s.rows.kernel * s.columns.kernel;
    const SavedFloats x(context.input(0));
    context.ParallelForWorkers(s.planes, std::max<int64_t>(1, kGrain / (work + 1)),
                               [&](int worker, int64_t begin, int64_t end) {
                                 float* scratch =
                                     context.scratch<float>() + worker * s.worker_floats();
                                 float* widened = scratch + 2 * s.columns.output;
                                 for (int64_t i = begin; i < end; ++i) {
                                   Plane(s, x.Read(i * s.input_size, s.input_size, widened),
                                         context.in<float>(1) + i * s.output_size,
                                         context.out<float>(0) + i * s.input_size, scratch);
                                 }
                               });
    return absl::OkStatus();
  }

 private:
  // A row of windows at a time, tap by tap: the largest so far and where it is.
  void Plane(const PoolGradientState& s, const float* x, const float* dy, float* dx,
             float* scratch) const {
    if (s.squares) {
      PoolPlane plane;
      plane.x = x;
      plane.dy = dy;
      plane.in_rows = s.rows.input, plane.in_columns = s.columns.input;
      plane.out_rows = s.rows.output, plane.out_columns = s.columns.output;
      return pools_.max_gradient_of_squares(plane, dx);
    }
    std::fill_n(dx, s.input_size, 0.0f);
    float* largest = scratch;
    auto* at = reinterpret_cast<int32_t*>(scratch + s.columns.output);
    for (int64_t i = 0; i < s.rows.output; ++i, dy += s.columns.output) {
      const int64_t top = s.rows.start(i);
      const int64_t k0 = s.rows.first_tap(top), k1 = s.rows.last_tap(top);
      if (k0 >= k1) continue;
      const auto first_row = static_cast<int32_t>((top + k0 * s.rows.dilation) * s.columns.input);
      for (int64_t j = 0; j < s.columns.output; ++j) {
        largest[j] = -std::numeric_limits<float>::infinity();
        at[j] = s.first_column[j] < 0 ? -1 : first_row + s.first_column[j];
      }
      for (int64_t k = k0; k < k1; ++k) {
        for (int64_t l = 0; l < s.columns.kernel; ++l) {
          const int64_t offset = (top + k * s.rows.dilation) * s.columns.input +
                                 s.columns.start(0) + l * s.columns.dilation;
          TakeLarger(x, offset, s.columns.stride, s.ranges[2 * l], s.ranges[2 * l + 1], largest,
                     at);
        }
      }
      for (int64_t j = 0; j < s.columns.output; ++j)
        if (at[j] >= 0) dx[at[j]] += dy[j];
    }
  }

  // The first largest stays, a NaN is above all: as MaxPool's Indices.
  static void TakeLarger(const float* x, int64_t offset, int64_t stride, int64_t begin, int64_t end,
                         float* __restrict largest, int32_t* __restrict at) {
    const auto step = static_cast<int32_t>(stride);
    auto here = static_cast<int32_t>(offset + begin * stride);
    for (int64_t j = begin; j < end; ++j, here += step) {
      const float value = x[offset + j * stride], before = largest[j];
      const bool larger = !(value <= before) & (before == before);
      largest[j] = larger ? value : before;
      at[j] = larger ? here : at[j];
    }
  }

  PoolAttributes attributes_;
  bool narrow_;  // X is
  const PoolPlaneKernels& pools_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPoolGradient(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, 0));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() > 2)
    return absl::UnimplementedError("one or two spatial axes");
  return std::make_unique<MaxPoolGradient>(std::move(attributes), TargetOf(spec),
                                           IsSavedNarrow(spec.input_dtype(0)));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "MaxPoolGradient", "max_pool_gradient", MakeMaxPoolGradient, kVectorTargets},
};

}  // namespace

KernelList PoolGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
