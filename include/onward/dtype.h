// Element types of tensors. The numbers are those of ONNX's TensorProto.DataType.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "onward/small_float.h"

namespace onward {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kNumDTypes = 29;

// NumPy's and ml_dtypes' spelling: "float32", "bfloat16", "float8e4m3fn", "int4", "string".
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

// Bits of one stored element; types of fewer than 8 are packed into one stream, low bits
// first. String: bits of a
// std::string object.
int BitSize(DType dtype);
// Bytes of `count` stored elements (`count` >= 0 and small enough not to overflow: see
// CheckedByteSize).
int64_t ByteSize(DType dtype, int64_t count);

bool IsFloating(DType dtype);  // every float format, not complex
bool IsInteger(DType dtype);   // signed and unsigned, 2 to 64 bits, not bool
bool IsSubByte(DType dtype);   // 2 to 6 bits, packed in memory

template <typename T>
struct DTypeOfImpl;
#define ONWARD_DTYPE_OF(type, name)              \
  template <>                                    \
  struct DTypeOfImpl<type> {                     \
    static constexpr DType kValue = DType::name; \
  };
ONWARD_DTYPE_OF(float, kFloat32)
ONWARD_DTYPE_OF(uint8_t, kUint8)
ONWARD_DTYPE_OF(int8_t, kInt8)
ONWARD_DTYPE_OF(uint16_t, kUint16)
ONWARD_DTYPE_OF(int16_t, kInt16)
ONWARD_DTYPE_OF(int32_t, kInt32)
ONWARD_DTYPE_OF(int64_t, kInt64)
ONWARD_DTYPE_OF(std::string, kString)
ONWARD_DTYPE_OF(bool, kBool)
ONWARD_DTYPE_OF(Float16, kFloat16)
ONWARD_DTYPE_OF(double, kFloat64)
ONWARD_DTYPE_OF(uint32_t, kUint32)
ONWARD_DTYPE_OF(uint64_t, kUint64)
ONWARD_DTYPE_OF(std::complex<float>, kComplex64)
ONWARD_DTYPE_OF(std::complex<double>, kComplex128)
ONWARD_DTYPE_OF(BFloat16, kBFloat16)
ONWARD_DTYPE_OF(Float8E4M3FN, kFloat8E4M3FN)
ONWARD_DTYPE_OF(Float8E4M3FNUZ, kFloat8E4M3FNUZ)
ONWARD_DTYPE_OF(Float8E5M2, kFloat8E5M2)
ONWARD_DTYPE_OF(Float8E5M2FNUZ, kFloat8E5M2FNUZ)
ONWARD_DTYPE_OF(Float8E8M0, kFloat8E8M0)
ONWARD_DTYPE_OF(Float4E2M1, kFloat4E2M1)
ONWARD_DTYPE_OF(Float6E2M3, kFloat6E2M3)
ONWARD_DTYPE_OF(Float6E3M2, kFloat6E3M2)
#undef ONWARD_DTYPE_OF

template <typename T>
inline constexpr DType kDTypeOf = DTypeOfImpl<T>::kValue;

// A list of C++ element types, and the lists that schemas name most often.
template <typename... T>
struct TypeList {};
template <typename A, typename B>
struct ConcatImpl;
template <typename... A, typename... B>
struct ConcatImpl<TypeList<A...>, TypeList<B...>> {
  using Result = TypeList<A..., B...>;
};
template <typename A, typename B>
using Concat = typename ConcatImpl<A, B>::Result;

using SignedTypes = TypeList<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerTypes = Concat<SignedTypes, UnsignedTypes>;
using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using Float8Types = TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>;
// Unpacked forms of the packed float types: tensors of them hold no such objects.
using PackedFloatTypes = TypeList<Float4E2M1, Float6E2M3, Float6E3M2>;
using NumericTypes = Concat<FloatTypes, IntegerTypes>;
using ComplexTypes = TypeList<std::complex<float>, std::complex<double>>;

// Calls f(std::type_identity<T>()) for the T of `types` whose dtype is `dtype` and returns true, or
// returns false.
template <typename... T, typename F>
bool DispatchDType(TypeList<T...>, DType dtype, F&& f) {
  bool found = false;
  ((dtype == kDTypeOf<T> ? (f(std::type_identity<T>()), found = true) : false) || ...);
  return found;
}

// Unpacks `count` elements of a packed type to one byte each (sign-extended for int4 and int2; raw
// code for the floats).
void UnpackSubByte(DType dtype, const void* packed, int64_t count, int8_t* unpacked);
// Packs the low bits of `count` bytes; unused bits of the last byte are zero.
void PackSubByte(DType dtype, const int8_t* unpacked, int64_t count, void* packed);

}  // namespace onward
