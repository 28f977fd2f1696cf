// Where packs may be used, and how large they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/pack.cuh"

namespace onward::kernels::cuda {

// The number of elements of each of the types that a thread moves at once.
template <typename... T>
inline constexpr int kPackOf = static_cast<int>(16 / std::max({sizeof(T)...}));

// Returns whether all begin where accesses of 16 bytes may begin.
inline bool ArePackAligned(std::initializer_list<const void*> addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
  });
}

}  // namespace onward::kernels::cuda
