// Storage types of the floating-point formats narrower than 32 bits. Each holds raw bits, converts
// to float exactly and from float by round-to-nearest-even. Formats and saturation: ONNX "Float
// stored in 8 bits" and "Float stored in 4 bits"; OCP 8-bit Floating Point Specification 1.0 and
// Microscaling Formats Specification 1.0 (6 bits).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace onward {

// IEEE binary16. Plain integer and float operations without branches, so that compilers vectorise
// loops over them for any target.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(FromFloat(value)) {}
  operator float() const {
    const uint32_t shifted = (bits & 0x7fffu) << 13;
    // Moves the exponent's bias from 15 to 127; exact for subnormal values too.
    const float scaled = std::bit_cast<float>(shifted) * 0x1p112f;
    const uint32_t special = scaled >= 65536.0f ? 0x7f800000u : 0u;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | (bits & 0x8000u) << 16);
  }
  static uint16_t FromFloat(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = raw & 0x7fffffffu;
    // Adding 0.5 aligns the bits of a subnormal result with the end of the mantissa and rounds.
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const uint32_t special =
        magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x47800000u ? special : result;
    return static_cast<uint16_t>(result | (raw >> 16 & 0x8000u));
  }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(FromFloat(value)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static uint16_t FromFloat(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    if ((raw & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((raw >> 16) | 0x40u);
    return static_cast<uint16_t>((raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16);
  }
};

// One row per 8-bit format: exponent and mantissa widths, bias, and which codes are special.
enum class Float8Kind { kE4M3FN, kE4M3FNUZ, kE5M2, kE5M2FNUZ };

// Converts by round-to-nearest-even. With `saturate`, finite overflow and infinity give the largest
// finite value (the standard's default for Cast); without, they give infinity or NaN as the format
// has it.
uint8_t Float8FromFloat(Float8Kind kind, float value, bool saturate);
float Float8ToFloat(Float8Kind kind, uint8_t bits);

template <Float8Kind K>
struct Float8 {
  static constexpr Float8Kind kKind = K;
  uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value, bool saturate = true) : bits(Float8FromFloat(K, value, saturate)) {}
  operator float() const { return Float8ToFloat(K, bits); }
};
using Float8E4M3FN = Float8<Float8Kind::kE4M3FN>;
using Float8E4M3FNUZ = Float8<Float8Kind::kE4M3FNUZ>;
using Float8E5M2 = Float8<Float8Kind::kE5M2>;
using Float8E5M2FNUZ = Float8<Float8Kind::kE5M2FNUZ>;

// A power of two without sign: value = 2^(bits - 127), 0xff is NaN. The standard's `round_mode` of
// Cast is a parameter of Float8E8M0FromFloat; the constructor takes its default, "up".
enum class E8M0Rounding { kUp, kDown, kNearest };
uint8_t Float8E8M0FromFloat(float value, bool saturate, E8M0Rounding rounding);

struct Float8E8M0 {
  uint8_t bits = 0;
  Float8E8M0() = default;
  explicit Float8E8M0(float value) : bits(Float8E8M0FromFloat(value, true, E8M0Rounding::kUp)) {}
  operator float() const {
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(1.0f, static_cast<int>(bits) - 127);
  }
};

// Unpacked form of one float4e2m1 element (low four bits used). Tensors store two per byte, low
// nibble first.
struct Float4E2M1 {
  uint8_t bits = 0;
  Float4E2M1() = default;
  explicit Float4E2M1(float value) : bits(FromFloat(value)) {}
  operator float() const;
  static uint8_t FromFloat(float value);
};

// Unpacked form of the 6-bit formats (low six bits used), which have no infinity and no NaN:
// overflow gives the largest value, NaN gives -0. Tensors store four in three bytes, low bits
// first.
uint8_t Float6FromFloat(int mantissa_bits, float value);
float Float6ToFloat(int mantissa_bits, uint8_t bits);

template <int kMantissaBits>
struct Float6 {
  uint8_t bits = 0;
  Float6() = default;
  explicit Float6(float value) : bits(Float6FromFloat(kMantissaBits, value)) {}
  operator float() const { return Float6ToFloat(kMantissaBits, bits); }
};
using Float6E2M3 = Float6<3>;
using Float6E3M2 = Float6<2>;

}  // namespace onward
