// Pixels of an image of bytes for channels_last.h.
#pragma once

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/int8_pack.h"

namespace onward::kernels::cpu {

class BytePixels {
 public:
  // `padding` is a byte of the image, the zero point; `lines` has line_bytes().
  BytePixels(const ChannelsLast& shape, const ByteSource& image, uint8_t padding, uint8_t* lines)
      : shape_(shape), image_(image), padding_(padding), lines_(lines) {}

  static int64_t line_bytes(const ChannelsLast& shape) {
    return shape.column_step == 1 || shape.comes_last ? 0 : shape.channels * shape.columns;
  }

  void Pad(int64_t count, char* to) const;
  void Copy(int64_t pixel, int64_t count, char* to) const;
  void Turn(int64_t pixel, int64_t count, char* to) const;

 private:
  const ChannelsLast& shape_;
  const ByteSource image_;
  const uint8_t padding_;
  uint8_t* const lines_;
};

}  // namespace onward::kernels::cpu
