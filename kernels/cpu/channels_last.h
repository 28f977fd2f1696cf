// Images with their channels last.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/simd/channels_last_loops.h"

namespace onward::kernels::cpu {

// Means and scales cut images of fewer pixels by blocks of channels, like the convolutions of each
// channel that they often come from: a thread finds its part in its cache.
inline constexpr int64_t kManyPixels = 512;
inline constexpr int64_t kBlockChannels = 64;

// The loops of the target that was chosen for a node; Unimplemented where they are not of the
// image's type.
absl::StatusOr<const ChannelsLastLoops*> LastLoopsOf(const NodeSpec& spec, DType image);

// An image as products of windows over it read it: [row][column][channel], with the padding of a
// convolution. Where windows of one element leave rows or columns out, those that are taken lie
// side by side. The image comes as [channel][in_h] [in_w], or [in_h][in_w][channel] where it
// `comes_last`.
struct ChannelsLast {
  bool comes_last = false;
  int64_t channels = 0;
  int64_t from_channels = 0;   // of the image as it comes, of which these are some
  int64_t in_h = 1, in_w = 1;  // of one channel as it comes
  int64_t rows = 1, columns = 1;
  int64_t top = 0, left = 0;              // padding
  int64_t row_step = 1, column_step = 1;  // in the image as it comes
  int element_bytes = 1;

  int64_t pixel_bytes() const { return channels * element_bytes; }
};

// Fills `to` with columns [begin, end) of a row. Of `pixels`, Pad(count, to) writes padding, and
// Copy(pixel, count, to) and Turn(pixel, count, to) write `count` pixels of the image, column_step
// apart from `pixel` on, where it comes last and where it does not.
template <typename Pixels>
void FillRow(const ChannelsLast& shape, const Pixels& pixels, int64_t row, int64_t begin,
             int64_t end, char* to) {
  const int64_t y = row * shape.row_step - shape.top;
  if (y < 0 || y >= shape.in_h) return pixels.Pad(end - begin, to);
  // Columns [first, last) lie in the image.
  const int64_t step = shape.column_step;
  const int64_t first = std::clamp<int64_t>(CeilDiv(shape.left, step), begin, end);
  const int64_t last = std::clamp<int64_t>(CeilDiv(shape.in_w + shape.left, step), first, end);
  pixels.Pad(first - begin, to);
  pixels.Pad(end - last, to + (last - begin) * shape.pixel_bytes());
  if (first == last) return;
  to += (first - begin) * shape.pixel_bytes();
  const int64_t pixel = y * shape.in_w + first * step - shape.left;
  shape.comes_last ? pixels.Copy(pixel, last - first, to) : pixels.Turn(pixel, last - first, to);
}

}  // namespace onward::kernels::cpu
