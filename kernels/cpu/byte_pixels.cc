#include "kernels/cpu/byte_pixels.h"

#include <algorithm>
#include <cstring>

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

void BytePixels::Pad(int64_t pixels, char* to) const {
  const int64_t count = pixels * shape_.channels;
  if (count <= 0) return;
  if (shape_.element_bytes == 1) {
    std::memset(to, image_.shifted ? padding_ ^ 0x80 : padding_, static_cast<size_t>(count));
    return;
  }
  std::fill_n(reinterpret_cast<int16_t*>(to), count, ByteNumber(padding_, image_.is_signed));
}

void BytePixels::Copy(int64_t pixel, int64_t count, char* to) const {
  const int64_t step = shape_.column_step;
  ByteSource from = image_;
  from.data += pixel * shape_.from_channels;
  if (step == 1 && shape_.channels == shape_.from_channels)
    return CopyElements(from, count * shape_.channels, shape_.element_bytes, to);
  for (int64_t c = 0; c < count; ++c, from.data += step * shape_.from_channels)
    CopyElements(from, shape_.channels, shape_.element_bytes, to + c * shape_.pixel_bytes());
}

void BytePixels::Turn(int64_t pixel, int64_t count, char* to) const {
  const int64_t step = shape_.column_step;
  ByteSource from = image_;
  from.data += pixel;
  int64_t stride = shape_.in_h * shape_.in_w;
  if (step > 1) {
    for (int64_t channel = 0; channel < shape_.channels; ++channel)
      TakeEach(step, from.data + channel * stride, count, lines_ + channel * count);
    from.data = lines_, stride = count;
  }
  if (shape_.element_bytes == 1) {
    TransposeBytes(from.data, stride, shape_.channels, count, from.shifted ? 0x80 : 0,
                   reinterpret_cast<uint8_t*>(to), shape_.channels);
  } else {
    TransposeWide(from, stride, shape_.channels, count, reinterpret_cast<int16_t*>(to));
  }
}

}  // namespace onward::kernels::cpu
