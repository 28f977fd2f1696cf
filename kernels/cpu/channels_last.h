// Images of bytes with their channels last, as products of 8-bit integers read them.
#pragma once

#include <cstdint>

#include "kernels/cpu/int8_pack.h"

namespace onward::kernels::cpu {

// [row][column][channel], with the padding of a convolution. Where windows of one element leave
// rows or columns out, those that are taken lie side by side. The image comes as [channel][in_h]
// [in_w], or [in_h][in_w][channel] where it `comes_last`.
struct ChannelsLast {
  bool comes_last = false;
  int64_t channels = 0;
  int64_t from_channels = 0;   // of the image as it comes, of which these are some
  int64_t in_h = 1, in_w = 1;  // of one channel as it comes
  int64_t rows = 1, columns = 1;
  int64_t top = 0, left = 0;              // padding
  int64_t row_step = 1, column_step = 1;  // in the image as it comes
  int element_bytes = 1;                  // 1 or 2

  int64_t pixel_bytes() const { return channels * element_bytes; }
  // Scratch of FillRow().
  int64_t line_bytes() const { return column_step == 1 || comes_last ? 0 : channels * columns; }
};

// Fills `to` with columns [begin, end) of a row. `padding` is a byte of the image, the zero point;
// `lines` has line_bytes().
void FillRow(const ChannelsLast& shape, const ByteSource& image, uint8_t padding, int64_t row,
             int64_t begin, int64_t end, uint8_t* lines, char* to);

}  // namespace onward::kernels::cpu
