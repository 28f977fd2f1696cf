// Neighbouring elements that one access of up to 16 bytes moves.
#pragma once

namespace onward::kernels::cuda {

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T elements[kCount];
};

// `from`: at a multiple of the pack's size.
template <int kCount, typename T>
__device__ inline Pack<T, kCount> LoadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}

template <int kCount, typename T>
__device__ inline void StorePack(const Pack<T, kCount>& pack, T* to) {
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

}  // namespace onward::kernels::cuda
