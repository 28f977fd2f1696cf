// The implicit matrices of convolutions (im2col), gathered a tile at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "kernels/bind/window.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {

struct ConvColumns {
  absl::Span<const WindowAxis> axes;
  int64_t kernel_size = 1;
  int64_t image_size = 0;     // elements of one channel of X
  int64_t num_positions = 0;  // elements of one channel of Y
};

// Coordinates of consecutive positions of a grid, kTileColumns apart per axis.
using Coordinates = absl::InlinedVector<int64_t, 3 * kTileColumns>;
template <typename AxisSize>
Coordinates CoordinatesOf(absl::Span<const WindowAxis> axes, int64_t first, int64_t count,
                          const AxisSize& axis_size) {
  Coordinates result(axes.size() * kTileColumns);
  for (int64_t j = 0; j < count; ++j) {
    int64_t rest = first + j;
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t size = axis_size(axes[i]);
      result[i * kTileColumns + static_cast<size_t>(j)] = rest % size;
      rest /= size;
    }
  }
  return result;
}

// Rows [p, p + depth) (channel, tap) of the columns whose positions are `coordinates`. `source`
// gives the index along an axis that a coordinate reads for tap k, out of [0, limit(axis)) for
// none.
template <typename T, typename Acc, typename Source, typename Limit>
void PackGathered(const ConvColumns& c, const T* image, int64_t p, int64_t depth, int64_t columns,
                  const Coordinates& coordinates, const Source& source, const Limit& limit,
                  Acc* to) {
  int64_t offsets[kTileColumns];
  for (int64_t first = p; first < p + std::min(depth, c.kernel_size); ++first) {
    std::fill_n(offsets, columns, 0);
    int64_t rest = first % c.kernel_size, scale = 1;
    for (size_t i = c.axes.size(); i-- > 0;) {
      const WindowAxis axis = c.axes[i];
      const int64_t k = rest % axis.kernel, size = limit(axis);
      rest /= axis.kernel;
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t index =
            source(axis, coordinates[i * kTileColumns + static_cast<size_t>(j)], k);
        const bool inside = index >= 0 && index < size && offsets[j] >= 0;
        offsets[j] = inside ? offsets[j] + index * scale : -1;
      }
      scale *= size;
    }
    for (int64_t q = first; q < p + depth; q += c.kernel_size) {
      const T* channel = image + q / c.kernel_size * c.image_size;
      Acc* row = to + (q - p) * kTileColumns;
      for (int64_t j = 0; j < columns; ++j)
        row[j] = offsets[j] < 0 ? Acc(0) : static_cast<Acc>(channel[offsets[j]]);
    }
  }
}

// Rows [p, p + depth) and columns [column, column + columns) (output positions) of the matrix that
// Conv multiplies by W. `image` is the group's first channel.
template <typename T, typename Acc>
void PackConvColumns(const ConvColumns& c, const T* image, int64_t p, int64_t depth, int64_t column,
                     int64_t columns, Acc* to) {
  const auto output = [](const WindowAxis& axis) { return axis.output; };
  const auto input = [](const WindowAxis& axis) { return axis.input; };
  const auto source = [](const WindowAxis& axis, int64_t o, int64_t k) {
    return axis.start(o) + k * axis.dilation;
  };
  PackGathered(c, image, p, depth, columns, CoordinatesOf(c.axes, column, columns, output), source,
               input, to);
}

// The same for ConvTranspose: columns are positions of its output, the axes' `input`.
template <typename T, typename Acc>
void PackTransposedColumns(const ConvColumns& c, const T* image, int64_t p, int64_t depth,
                           int64_t column, int64_t columns, Acc* to) {
  const auto output = [](const WindowAxis& axis) { return axis.output; };
  const auto input = [](const WindowAxis& axis) { return axis.input; };
  const auto source = [](const WindowAxis& axis, int64_t position, int64_t k) {
    const int64_t reach = position + axis.pad_begin - k * axis.dilation;
    return reach % axis.stride == 0 ? reach / axis.stride : -1;
  };
  PackGathered(c, image, p, depth, columns, CoordinatesOf(c.axes, column, columns, input), source,
               output, to);
}

}  // namespace onward::kernels::cpu
