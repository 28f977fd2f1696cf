#include "kernels/cpu/channels_last.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {
namespace {

constexpr int kSide = 16;

using Bytes = uint8_t __attribute__((vector_size(kSide)));

// The bytes of the lower halves in turn, and those of the upper ones.
inline __attribute__((always_inline)) void InterleaveHalves(Bytes a, Bytes b, Bytes* low,
                                                            Bytes* high) {
  *low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *high =
      __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// One of four equal steps: rows r and r + 8 become rows 2 r and 2 r + 1, interleaved. Each rotates
// the eight bits of (row, column) by one, so that four of them swap row and column.
inline __attribute__((always_inline)) void Step(const Bytes (&from)[kSide], Bytes (&to)[kSide]) {
#pragma GCC unroll 8
  for (int r = 0; r < kSide / 2; ++r) {
    InterleaveHalves(from[r], from[r + kSide / 2], &to[2 * r], &to[2 * r + 1]);
  }
}

// A block of 16 rows and `columns` <= 16 columns; kColumns, where it is 16.
template <int kColumns>
inline __attribute__((always_inline)) void TransposeBlock(const uint8_t* from, int64_t from_stride,
                                                          int columns, uint8_t flip, uint8_t* to,
                                                          int64_t to_stride) {
  Bytes a[kSide], b[kSide];
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) {
    a[r] = Bytes{};
    std::memcpy(&a[r], from + r * from_stride,
                static_cast<size_t>(kColumns > 0 ? kColumns : columns));
    a[r] ^= flip;
  }
  Step(a, b);
  Step(b, a);
  Step(a, b);
  Step(b, a);
  if constexpr (kColumns > 0) columns = kColumns;
#pragma GCC unroll 16
  for (int c = 0; c < columns; ++c) std::memcpy(to + c * to_stride, &a[c], kSide);
}

void TakeEach(int64_t step, const uint8_t* from, int64_t count, uint8_t* to) {
  if (step == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[step * i];
  }
}

// TransposeBytes() to elements of 16 bits, by the sign of the bytes.
void TransposeWide(const ByteSource& from, int64_t from_stride, int64_t rows, int64_t columns,
                   int16_t* to) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      const uint8_t byte = from.data[r * from_stride + c];
      *to++ = from.is_signed ? static_cast<int16_t>(static_cast<int8_t>(byte))
                             : static_cast<int16_t>(byte);
    }
  }
}

void FillPadding(const ChannelsLast& shape, const ByteSource& image, uint8_t padding,
                 int64_t columns, char* to) {
  const int64_t count = columns * shape.channels;
  if (count <= 0) return;
  if (shape.element_bytes == 1) {
    std::memset(to, image.shifted ? padding ^ 0x80 : padding, static_cast<size_t>(count));
    return;
  }
  std::fill_n(reinterpret_cast<int16_t*>(to), count,
              image.is_signed ? static_cast<int16_t>(static_cast<int8_t>(padding))
                              : static_cast<int16_t>(padding));
}

// Elements that lie side by side.
void CopyElements(const ByteSource& from, int64_t count, int element_bytes, void* to) {
  if (element_bytes == 2) {
    TransposeWide(from, 0, 1, count, static_cast<int16_t*>(to));
  } else if (from.shifted) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(from.data[i] ^ 0x80);
  } else {
    std::memcpy(to, from.data, static_cast<size_t>(count));
  }
}

}  // namespace

void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns,
                    uint8_t flip, uint8_t* to, int64_t to_stride) {
  int64_t r = 0;
  for (; r + kSide <= rows; r += kSide) {
    const uint8_t* line = from + r * from_stride;
    int64_t c = 0;
    for (; c + kSide <= columns; c += kSide)
      TransposeBlock<kSide>(line + c, from_stride, kSide, flip, to + c * to_stride + r, to_stride);
    if (c == columns) continue;
    TransposeBlock<0>(line + c, from_stride, static_cast<int>(columns - c), flip,
                      to + c * to_stride + r, to_stride);
  }
  if (r == rows) return;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t rest = r; rest < rows; ++rest)
      to[c * to_stride + rest] = static_cast<uint8_t>(from[rest * from_stride + c] ^ flip);
  }
}

void FillRow(const ChannelsLast& shape, const ByteSource& image, uint8_t padding, int64_t row,
             int64_t begin, int64_t end, uint8_t* lines, char* to) {
  const int64_t y = row * shape.row_step - shape.top;
  if (y < 0 || y >= shape.in_h) return FillPadding(shape, image, padding, end - begin, to);
  // Columns [first, last) lie in the image.
  const int64_t step = shape.column_step;
  const int64_t first = std::clamp<int64_t>(CeilDiv(shape.left, step), begin, end);
  const int64_t last = std::clamp<int64_t>(CeilDiv(shape.in_w + shape.left, step), first, end);
  FillPadding(shape, image, padding, first - begin, to);
  FillPadding(shape, image, padding, end - last, to + (last - begin) * shape.pixel_bytes());
  const int64_t count = last - first;
  if (count == 0) return;
  ByteSource from = image;
  to += (first - begin) * shape.pixel_bytes();
  if (shape.comes_last) {
    from.data += (y * shape.in_w + first * step - shape.left) * shape.from_channels;
    if (step == 1 && shape.channels == shape.from_channels)
      return CopyElements(from, count * shape.channels, shape.element_bytes, to);
    for (int64_t c = 0; c < count; ++c, from.data += step * shape.from_channels) {
      CopyElements(from, shape.channels, shape.element_bytes, to + c * shape.pixel_bytes());
    }
    return;
  }
  from.data += y * shape.in_w + first * step - shape.left;
  int64_t stride = shape.in_h * shape.in_w;
  if (step > 1) {
    for (int64_t channel = 0; channel < shape.channels; ++channel)
      TakeEach(step, from.data + channel * stride, count, lines + channel * count);
    from.data = lines, stride = count;
  }
  if (shape.element_bytes == 1) {
    TransposeBytes(from.data, stride, shape.channels, count, from.shifted ? 0x80 : 0,
                   reinterpret_cast<uint8_t*>(to), shape.channels);
  } else {
    TransposeWide(from, stride, shape.channels, count, reinterpret_cast<int16_t*>(to));
  }
}

}  // namespace onward::kernels::cpu
