// Arithmetic on sizes that come from models and users. Every product of dims, offset and stride
// goes through here.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dtype.h"

namespace onward {

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// Number of elements of `dims`; InvalidArgument when a dim is negative or the product overflows.
absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> dims);

// The same for the dims of a type, which nobody has validated; INT64_MAX where it returns an error.
inline int64_t SaturatedNumElements(absl::Span<const int64_t> dims) {
  return CheckedNumElements(dims).value_or(INT64_MAX);
}

// Bytes of a tensor, packed types rounded up; InvalidArgument as above or when the bytes overflow.
absl::StatusOr<int64_t> CheckedByteSize(DType dtype, absl::Span<const int64_t> dims);

}  // namespace onward
