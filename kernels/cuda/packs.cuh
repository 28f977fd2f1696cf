// Neighbouring elements that one access of up to 16 bytes moves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T elements[kCount];
};

// The number of elements of each of the types that a thread moves at once.
template <typename... T>
inline constexpr int kPackOf = static_cast<int>(16 / std::max({sizeof(T)...}));

// `from`: at a multiple of the pack's size.
template <int kCount, typename T>
__device__ inline Pack<T, kCount> LoadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}

template <int kCount, typename T>
__device__ inline void StorePack(const Pack<T, kCount>& pack, T* to) {
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Returns whether all begin where accesses of 16 bytes may begin.
inline bool ArePackAligned(std::initializer_list<const void*> addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
  });
}

}  // namespace onward::kernels::cuda
