// Kernels that only move data choose their loops by the size of an element, not by its dtype.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/bind/indices.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// N bytes that are copied as one, at any alignment.
template <size_t N>
struct Chunk {
  unsigned char bytes[N];
};

// Calls f(std::type_identity<T>()) where T is std::string or a Chunk of the element's size. An
// element of a packed type counts as one byte: see packed.h.
template <typename F>
auto DispatchElement(DType dtype, F&& f) {
  if (dtype == DType::kString) return f(std::type_identity<std::string>());
  switch (BitSize(dtype)) {
    case 128:
      return f(std::type_identity<Chunk<16>>());
    case 64:
      return f(std::type_identity<Chunk<8>>());
    case 32:
      return f(std::type_identity<Chunk<4>>());
    case 16:
      return f(std::type_identity<Chunk<2>>());
    default:
      return f(std::type_identity<Chunk<1>>());
  }
}

// Bytes between elements in memory; 1 for packed types, which are unpacked first.
inline int64_t ElementStride(DType dtype) { return std::max(8, BitSize(dtype)) / 8; }

// Copies `count` elements; the ranges do not overlap.
template <typename T>
void CopyRun(const T* from, int64_t count, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    std::copy_n(from, count, to);
  }
}

// Elements that are worth a thread's while when each costs little more than a copy: about 128 KiB.
template <typename T>
constexpr int64_t CopyGrain() {
  return std::max<int64_t>(1, (int64_t{1} << 17) / static_cast<int64_t>(sizeof(T)));
}

}  // namespace onward::kernels::cpu
