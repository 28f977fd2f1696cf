#include "kernels/cpu/pixel_phases.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // floats of planes: about 5 us

// Calls body(step) with a step that the compiler knows where vectors gain from it.
template <typename Body>
void WithStep(int64_t step, const Body& body) {
  if (step == 1) return body(std::integral_constant<int64_t, 1>());
  if (step == 2) return body(std::integral_constant<int64_t, 2>());
  if (step == 4) return body(std::integral_constant<int64_t, 4>());
  body(step);
}

int64_t GrainOf(const PixelPhases& phases) {
  return CeilDiv(kGrain, std::max<int64_t>(1, phases.pixels()));
}

}  // namespace

std::optional<ConvGeometry> PhasesAsImages(const ConvGeometry& geometry) {
  if (geometry.axes.size() != 2) return std::nullopt;
  ConvGeometry g = geometry;
  for (WindowAxis& axis : g.axes) {
    if (axis.stride != 1 || axis.pad_begin % axis.dilation != 0) return std::nullopt;
    if (axis.dilation > 1 && axis.dilation > axis.output) return std::nullopt;
    g.batch *= axis.dilation;
    axis.input = CeilDiv(axis.input, axis.dilation);
    axis.output = CeilDiv(axis.output, axis.dilation);
    axis.pad_begin /= axis.dilation;
    axis.dilation = 1;
    axis.pad_end = axis.output - 1 + axis.kernel - axis.input - axis.pad_begin;
  }
  g.output = {g.batch, g.filters, g.axes[0].output, g.axes[1].output};
  return g;
}

void SplitPhases(const RunContext& context, const ConvTileKernels& tiles, const PixelPhases& phases,
                 int64_t planes, const float* x, float* to) {
  // Windows side by side as large as their strides read every phase.
  PatchWindow window;
  window.in_h = phases.height, window.in_w = phases.width;
  window.out_h = phases.rows(), window.out_w = phases.columns();
  window.kernel_h = window.stride_h = phases.row_step;
  window.kernel_w = window.stride_w = phases.column_step;
  context.ParallelFor(planes, GrainOf(phases), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      tiles.split_channel(window, x + i * phases.height * phases.width, to + i * phases.pixels());
  });
}

void JoinPhases(const RunContext& context, const PixelPhases& phases, int64_t planes,
                const float* from, float* y) {
  const int64_t width = phases.width, columns = phases.columns();
  const int64_t phase_floats = phases.rows() * columns;
  const auto join = [&](auto step, const float* row, float* to) {
    for (int64_t phase = 0; phase < step; ++phase, row += phase_floats) {
      const int64_t count = CeilDiv(width - phase, step);
      for (int64_t i = 0; i < count; ++i) to[phase + i * step] = row[i];
    }
  };
  WithStep(phases.column_step, [&](auto step) {
    context.ParallelFor(planes, GrainOf(phases), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t at = 0; at < phases.height; ++at) {
          const int64_t phase = at % phases.row_step * step, row = at / phases.row_step;
          join(step, from + i * phases.pixels() + phase * phase_floats + row * columns,
               y + (i * phases.height + at) * width);
        }
      }
    });
  });
}

}  // namespace onward::kernels::cpu
