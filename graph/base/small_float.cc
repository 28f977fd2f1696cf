#include "onward/small_float.h"

#include <algorithm>

namespace onward {
namespace {

struct Layout {
  int mantissa_bits;
  int bias;
};

struct Float8Format : Layout {
  uint8_t max_finite;  // magnitude bits of the largest finite value
  int infinity;        // magnitude bits of infinity, -1 where the format has none
  uint8_t nan;         // the NaN that conversion produces
  bool unsigned_zero;  // FNUZ: 0x80 is the only NaN and there is no -0
};

constexpr Float8Format kFormats[] = {
    {{3, 7}, 0x7e, -1, 0x7f, false},
    {{3, 8}, 0x7f, -1, 0x80, true},
    {{2, 15}, 0x7b, 0x7c, 0x7f, false},
    {{2, 16}, 0x7f, -1, 0x80, true},
};

float DecodeMagnitude(const Layout& format, int bits) {
  const int exponent = bits >> format.mantissa_bits;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  if (exponent == 0)
    return std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  return std::ldexp(static_cast<float>(mantissa + (1 << format.mantissa_bits)),
                    exponent - format.bias - format.mantissa_bits);
}

// The code nearest to a finite value, ties to even; above the format's codes where it overflows.
int EncodeMagnitude(const Layout& format, float magnitude) {
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - format.bias);
  const float scaled = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const int rounded = static_cast<int>(std::nearbyint(scaled));
  // A carry out of the mantissa moves into the exponent by plain addition.
  return ((exponent + format.bias - 1) << format.mantissa_bits) + rounded;
}

constexpr Layout SixBitLayout(int mantissa_bits) {
  return {mantissa_bits, mantissa_bits == 3 ? 1 : 3};
}

}  // namespace

float Float8ToFloat(Float8Kind kind, uint8_t bits) {
  const Float8Format& format = kFormats[static_cast<int>(kind)];
  const int magnitude = bits & 0x7f;
  const float sign = (bits & 0x80) ? -1.0f : 1.0f;
  if (format.unsigned_zero) {
    if (bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  } else if (magnitude > format.max_finite) {
    if (magnitude == format.infinity) return sign * std::numeric_limits<float>::infinity();
    return std::numeric_limits<float>::quiet_NaN();
  }
  return sign * DecodeMagnitude(format, magnitude);
}

uint8_t Float8FromFloat(Float8Kind kind, float value, bool saturate) {
  const Float8Format& format = kFormats[static_cast<int>(kind)];
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return format.unsigned_zero ? 0x80 : static_cast<uint8_t>(sign | 0x7f);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return format.unsigned_zero ? 0 : sign;
  const float largest = DecodeMagnitude(format, format.max_finite);
  // Halfway to the value that would follow the largest finite one.
  const float step = largest - DecodeMagnitude(format, format.max_finite - 1);
  const bool overflow = magnitude > largest + step / 2 ||
                        (magnitude == largest + step / 2 && (format.max_finite & 1));
  if (overflow || std::isinf(value)) {
    if (saturate) return sign | format.max_finite;
    if (format.infinity >= 0) return static_cast<uint8_t>(sign | format.infinity);
    return format.unsigned_zero ? format.nan : static_cast<uint8_t>(sign | format.nan);
  }
  const int code = EncodeMagnitude(format, magnitude);
  if (code == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(sign | std::min<int>(code, format.max_finite));
}

uint8_t Float8E8M0FromFloat(float value, bool saturate, E8M0Rounding rounding) {
  if (std::isnan(value)) return 0xff;
  const uint32_t raw = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  const uint32_t exponent = raw >> 23;
  const uint32_t mantissa = raw & 0x7fffffu;
  if (exponent == 255) return saturate ? 0xfe : 0xff;
  bool up = false;
  switch (rounding) {
    case E8M0Rounding::kUp:
      up = mantissa != 0 && (exponent > 0 || mantissa > 0x400000u);
      break;
    case E8M0Rounding::kDown:
      break;
    case E8M0Rounding::kNearest:
      up = mantissa >= 0x400000u && (exponent > 0 || mantissa > 0x400000u);
      break;
  }
  const uint32_t code = exponent + (up ? 1 : 0);
  if (code >= 255) return saturate ? 0xfe : 0xff;
  return static_cast<uint8_t>(code);
}

Float4E2M1::operator float() const {
  static constexpr float kValues[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const float magnitude = kValues[bits & 7];
  return (bits & 8) ? -magnitude : magnitude;
}

uint8_t Float4E2M1::FromFloat(float value) {
  const uint8_t sign = std::signbit(value) ? 8 : 0;
  if (std::isnan(value)) return 8;  // the format has no NaN; the standard's cases expect -0
  const float magnitude = std::fabs(value);
  uint8_t code = 7;
  if (magnitude <= 0.25f)
    code = 0;
  else if (magnitude < 0.75f)
    code = 1;
  else if (magnitude <= 1.25f)
    code = 2;
  else if (magnitude < 1.75f)
    code = 3;
  else if (magnitude <= 2.5f)
    code = 4;
  else if (magnitude < 3.5f)
    code = 5;
  else if (magnitude <= 5.0f)
    code = 6;
  return sign | code;
}

float Float6ToFloat(int mantissa_bits, uint8_t bits) {
  const float magnitude = DecodeMagnitude(SixBitLayout(mantissa_bits), bits & 0x1f);
  return (bits & 0x20) ? -magnitude : magnitude;
}

uint8_t Float6FromFloat(int mantissa_bits, float value) {
  if (std::isnan(value)) return 0x20;
  const uint8_t sign = std::signbit(value) ? 0x20 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int code = magnitude > 32 ? 0x1f : EncodeMagnitude(SixBitLayout(mantissa_bits), magnitude);
  return static_cast<uint8_t>(sign | std::min(code, 0x1f));
}

}  // namespace onward
