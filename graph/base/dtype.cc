#include "onward/dtype.h"

#include <algorithm>

namespace onward {
namespace {

enum Kind : uint8_t { kOther, kFloatKind, kIntegerKind };

struct DTypeRow {
  std::string_view name;
  int bits;
  Kind kind;
};

constexpr DTypeRow kRows[kNumDTypes] = {
    {"undefined", 0, kOther},
    {"float32", 32, kFloatKind},
    {"uint8", 8, kIntegerKind},
    {"int8", 8, kIntegerKind},
    {"uint16", 16, kIntegerKind},
    {"int16", 16, kIntegerKind},
    {"int32", 32, kIntegerKind},
    {"int64", 64, kIntegerKind},
    {"string", 8 * sizeof(std::string), kOther},
    {"bool", 8, kOther},
    {"float16", 16, kFloatKind},
    {"float64", 64, kFloatKind},
    {"uint32", 32, kIntegerKind},
    {"uint64", 64, kIntegerKind},
    {"complex64", 64, kOther},
    {"complex128", 128, kOther},
    {"bfloat16", 16, kFloatKind},
    {"float8e4m3fn", 8, kFloatKind},
    {"float8e4m3fnuz", 8, kFloatKind},
    {"float8e5m2", 8, kFloatKind},
    {"float8e5m2fnuz", 8, kFloatKind},
    {"uint4", 4, kIntegerKind},
    {"int4", 4, kIntegerKind},
    {"float4e2m1", 4, kFloatKind},
    {"float8e8m0", 8, kFloatKind},
    {"uint2", 2, kIntegerKind},
    {"int2", 2, kIntegerKind},
    {"float6e2m3", 6, kFloatKind},
    {"float6e3m2", 6, kFloatKind},
};

// Models name dtypes by number in attributes: one that there is none of is the undefined one.
const DTypeRow& Row(DType dtype) {
  const auto index = static_cast<int>(dtype);
  return kRows[index < kNumDTypes ? index : 0];
}

// Four elements in three bytes; the last group may be shorter.
void UnpackSixBits(const uint8_t* bytes, int64_t count, uint8_t* unpacked) {
  for (int64_t i = 0; i < count; i += 4, bytes += 3) {
    const int64_t used = std::min<int64_t>(4, count - i);
    uint32_t group = 0;
    for (int64_t j = 0; j < (used * 6 + 7) / 8; ++j) group |= uint32_t{bytes[j]} << (8 * j);
    for (int64_t j = 0; j < used; ++j) unpacked[i + j] = group >> (6 * j) & 0x3f;
  }
}

void PackSixBits(const uint8_t* unpacked, int64_t count, uint8_t* bytes) {
  for (int64_t i = 0; i < count; i += 4, bytes += 3) {
    const int64_t used = std::min<int64_t>(4, count - i);
    uint32_t group = 0;
    for (int64_t j = 0; j < used; ++j) group |= uint32_t{unpacked[i + j] & 0x3fu} << (6 * j);
    for (int64_t j = 0; j < (used * 6 + 7) / 8; ++j)
      bytes[j] = static_cast<uint8_t>(group >> (8 * j));
  }
}

}  // namespace

std::string_view DTypeName(DType dtype) { return Row(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int BitSize(DType dtype) { return Row(dtype).bits; }

int64_t ByteSize(DType dtype, int64_t count) {
  const int bits = BitSize(dtype);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

bool IsFloating(DType dtype) { return Row(dtype).kind == kFloatKind; }
bool IsInteger(DType dtype) { return Row(dtype).kind == kIntegerKind; }
bool IsSubByte(DType dtype) { return BitSize(dtype) > 0 && BitSize(dtype) < 8; }

void UnpackSubByte(DType dtype, const void* packed, int64_t count, int8_t* unpacked) {
  const auto* bytes = static_cast<const uint8_t*>(packed);
  const int bits = BitSize(dtype);
  if (bits == 6) return UnpackSixBits(bytes, count, reinterpret_cast<uint8_t*>(unpacked));
  const int per_byte = 8 / bits;
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
  for (int64_t i = 0; i < count; ++i) {
    const int raw = (bytes[i / per_byte] >> (i % per_byte * bits)) & ((1 << bits) - 1);
    const bool negative = is_signed && (raw >> (bits - 1)) != 0;
    unpacked[i] = static_cast<int8_t>(negative ? raw - (1 << bits) : raw);
  }
}

void PackSubByte(DType dtype, const int8_t* unpacked, int64_t count, void* packed) {
  auto* bytes = static_cast<uint8_t*>(packed);
  const int bits = BitSize(dtype);
  if (bits == 6) return PackSixBits(reinterpret_cast<const uint8_t*>(unpacked), count, bytes);
  const int per_byte = 8 / bits;
  for (int64_t i = 0; i < ByteSize(dtype, count); ++i) bytes[i] = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int raw = unpacked[i] & ((1 << bits) - 1);
    bytes[i / per_byte] =
        static_cast<uint8_t>(bytes[i / per_byte] | (raw << (i % per_byte * bits)));
  }
}

}  // namespace onward
