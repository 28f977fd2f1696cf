#include "kernels/cpu/channels_last.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/transpose_bytes.h"

namespace onward::kernels::cpu {
namespace {

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
      *to++ = ByteNumber(from.data[r * from_stride + c], from.is_signed);
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
  std::fill_n(reinterpret_cast<int16_t*>(to), count, ByteNumber(padding, image.is_signed));
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
