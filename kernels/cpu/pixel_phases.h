// The phases of an image: pixels that lie a step apart, which are what the taps of a dilated
// convolution reach. As images of their own they are convolved without dilation.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/bind/conv.h"
#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

// The cut of an image into phases.
struct PixelPhases {
  int64_t height = 0, width = 0;  // of the image
  int64_t row_step = 1, column_step = 1;

  int64_t count() const { return row_step * column_step; }
  // Those of a phase. The last ones of some phases lie beyond the image.
  int64_t rows() const { return (height + row_step - 1) / row_step; }
  int64_t columns() const { return (width + column_step - 1) / column_step; }
  int64_t pixels() const { return count() * rows() * columns(); }
};

// Returns the convolution of the phases of `geometry`'s images, which are the images of a larger
// batch, or nothing where strides, or padding that is not a multiple of the dilation, mix phases,
// or where some phase would have no output. For two axes.
std::optional<ConvGeometry> PhasesAsImages(const ConvGeometry& geometry);

// to[plane][phase][row][column] = x[plane][height][width]; pixels beyond the image are zeros.
void SplitPhases(const RunContext& context, const ConvTileKernels& tiles, const PixelPhases& phases,
                 int64_t planes, const float* x, float* to);
// The inverse, without the pixels beyond the image.
void JoinPhases(const RunContext& context, const PixelPhases& phases, int64_t planes,
                const float* from, float* y);

}  // namespace onward::kernels::cpu
