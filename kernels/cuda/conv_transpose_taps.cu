#include <numeric>

#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/conv_transpose_taps.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

// A tap, and the element of x along an axis that it brings to a position; that element may lie
// outside x.
struct Reach {
  int64_t tap, from;
};

// Among `tap_step` neighbouring taps one at most reaches a position.
__device__ Reach FirstReach(const TransposedAxis& axis, int64_t position) {
  for (int64_t tap = 0; tap < axis.kernel && tap < axis.tap_step; ++tap) {
    const int64_t distance = position + axis.pad - tap * axis.dilation;
    if (distance < 0) break;
    const int64_t from = Quotient(distance, axis.stride);
    if (from * axis.stride == distance) return {tap, from};
  }
  return {axis.kernel, 0};
}

__device__ bool IsReach(const TransposedAxis& axis, const Reach& reach) {
  return reach.tap < axis.kernel && reach.from >= 0;
}

__device__ void Advance(const TransposedAxis& axis, Reach& reach) {
  reach.tap += axis.tap_step;
  reach.from -= axis.x_step;
}

template <typename T>
__global__ void GatherTapsLoop(const T* x, const T* w, const T* bias, T* y, GatherPlan plan) {
  const TransposedAxis &rows = plan.h, &columns = plan.w;
  const int64_t pixels = rows.x * columns.x, taps = rows.kernel * columns.kernel;
  const int64_t step = plan.filters * taps;  // of W, from channel to channel
  for (int64_t i = GlobalIndex(); i < plan.count; i += GlobalSize()) {
    const int64_t line = Quotient(i, columns.y), plane = Quotient(line, rows.y);
    const int64_t slice = Quotient(plane, plan.filters);  // a group of an image
    const int64_t group = slice - Quotient(slice, plan.group) * plan.group;
    const int64_t filter = plane - slice * plan.filters;
    const T* images = x + slice * plan.channels * pixels;
    const T* weights = w + group * plan.channels * step + filter * taps;
    const Reach first = FirstReach(columns, i - line * columns.y);
    ComputeType<T> sum = bias == nullptr ? 0 : Load(bias[group * plan.filters + filter]);
    for (Reach h = FirstReach(rows, line - plane * rows.y); IsReach(rows, h); Advance(rows, h)) {
      if (h.from >= rows.x) continue;
      for (Reach v = first; IsReach(columns, v); Advance(columns, v)) {
        if (v.from >= columns.x) continue;
        const T* element = images + h.from * columns.x + v.from;
        const T* weight = weights + h.tap * columns.kernel + v.tap;
        for (int64_t c = 0; c < plan.channels; ++c)
          sum += Load(element[c * pixels]) * Load(weight[c * step]);
      }
    }
    y[i] = Rounded<T>(sum);
  }
}

template <typename T>
absl::Status LaunchGatherTaps(const RunContext& context, const GatherPlan& plan) {
  return Launch(GatherTapsLoop<T>, Blocks(plan.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.in<T>(1),
                context.has_input(2) ? context.in<T>(2) : nullptr, context.out<T>(0), plan);
}

}  // namespace

TransposedAxis TransposedAxisOf(const WindowAxis& axis) {
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  return {axis.output,   axis.input,     axis.kernel,          axis.stride,
          axis.dilation, axis.pad_begin, axis.stride / common, axis.dilation / common};
}

LaunchTaps TapsOf(DType dtype) {
  LaunchTaps launch = nullptr;
  DispatchDType(FloatTypes(), dtype,
                [&](auto tag) { launch = LaunchGatherTaps<typename decltype(tag)::type>; });
  return launch;
}

}  // namespace onward::kernels::cuda
