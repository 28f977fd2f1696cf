#include "kernels/cpu/pixel_phases.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // floats of planes: about 5 us

// The pixels of a row, or of a plane, that phase `phase` has.
int64_t PixelsOfPhase(int64_t size, int64_t step, int64_t phase) {
  return phase < size ? (size - phase + step - 1) / step : 0;
}

// Calls body(step) with a step that the compiler knows where vectors gain from it.
template <typename Body>
void WithStep(int64_t step, const Body& body) {
  if (step == 1) return body(std::integral_constant<int64_t, 1>());
  if (step == 2) return body(std::integral_constant<int64_t, 2>());
  if (step == 4) return body(std::integral_constant<int64_t, 4>());
  body(step);
}

// Calls body(row of the image, row of phase (row % row_step, 0), whether the image has it) for
// every row of every phase, for each plane.
template <typename Body>
void ForEachRow(const RunContext& context, const PixelPhases& phases, int64_t images,
                int64_t channels, const Body& body) {
  const int64_t plane = phases.rows() * phases.columns();
  const int64_t grain = CeilDiv(kGrain, std::max<int64_t>(1, phases.pixels()));
  context.ParallelFor(images * channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / channels, channel = i % channels;
      const int64_t first = (image * phases.count() * channels + channel) * plane;
      for (int64_t y = 0; y < phases.rows() * phases.row_step; ++y) {
        const int64_t phase = y % phases.row_step * phases.column_step;
        const int64_t row = y / phases.row_step;
        body((i * phases.height + y) * phases.width,
             first + phase * channels * plane + row * phases.columns(), y < phases.height);
      }
    }
  });
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

void SplitPhases(const RunContext& context, const PixelPhases& phases, int64_t images,
                 int64_t channels, const float* x, float* to) {
  const int64_t columns = phases.columns(), phase_floats = channels * phases.rows() * columns;
  WithStep(phases.column_step, [&](auto step) {
    ForEachRow(context, phases, images, channels, [&](int64_t from, int64_t at, bool inside) {
      for (int64_t phase = 0; phase < step; ++phase) {
        const int64_t n = inside ? PixelsOfPhase(phases.width, step, phase) : 0;
        float* row = to + at + phase * phase_floats;
        for (int64_t i = 0; i < n; ++i) row[i] = x[from + phase + i * step];
        std::fill(row + n, row + columns, 0.0f);
      }
    });
  });
}

void JoinPhases(const RunContext& context, const PixelPhases& phases, int64_t images,
                int64_t channels, const float* from, float* y) {
  const int64_t phase_floats = channels * phases.rows() * phases.columns();
  WithStep(phases.column_step, [&](auto step) {
    ForEachRow(context, phases, images, channels, [&](int64_t to, int64_t at, bool inside) {
      if (!inside) return;
      for (int64_t phase = 0; phase < step; ++phase) {
        const float* row = from + at + phase * phase_floats;
        const int64_t n = PixelsOfPhase(phases.width, step, phase);
        for (int64_t i = 0; i < n; ++i) y[to + phase + i * step] = row[i];
      }
    });
  });
}

}  // namespace onward::kernels::cpu
