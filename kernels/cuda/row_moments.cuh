// Statistics of a row of neighbouring elements, by the threads that share it.
#pragma once

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {

template <typename C>
struct RowMoments {
  C mean, variance;
};

// All threads of the row get the result. n: a multiple of kPack. Without kCentered the mean is
// taken to be 0.
template <typename Threads, bool kCentered, int kPack, typename T>
__device__ RowMoments<ComputeType<T>> MomentsOfRow(const T* x, int64_t n) {
  using C = ComputeType<T>;
  const int64_t packs = n / kPack;
  C mean = 0, squares = 0;
  if constexpr (kCentered) {
    for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
      const Pack<T, kPack> pack = LoadPack<kPack>(x + p * kPack);
      for (int i = 0; i < kPack; ++i) mean += Load(pack.elements[i]);
    }
    mean = Threads::template Combine<functors::Add>(mean) / static_cast<C>(n);
  }
  for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
    const Pack<T, kPack> pack = LoadPack<kPack>(x + p * kPack);
    for (int i = 0; i < kPack; ++i) {
      const C difference = Load(pack.elements[i]) - mean;
      squares += difference * difference;
    }
  }
  return {mean, Threads::template Combine<functors::Add>(squares) / static_cast<C>(n)};
}

}  // namespace onward::kernels::cuda
