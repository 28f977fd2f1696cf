// Definitions that CUDA C++ needs for the host's compiler; included before each source of a kernel.
#pragma once

// The runtime's own launch knows a kernel by its address alone.
#define cudaLaunchKernelEx cudaLaunchKernelExByAddress
#include <cuda_runtime.h>
#undef cudaLaunchKernelEx

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

// One block runs at a time.
#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace onward::emulated_cuda {

// Puts the blocks of a grid on a stream; `thread` runs once for each thread.
cudaError_t LaunchGrid(const cudaLaunchConfig_t& config, std::function<void()> thread);
// The dynamic shared memory of the block that runs.
void* DynamicShared();
void SyncBlock();
void SyncWarp(unsigned mask);
int Lane();
// The value of lane `source`; all lanes of the mask call it.
uint64_t Exchange(unsigned mask, uint64_t value, int source);
unsigned Ballot(unsigned mask, bool value);

template <typename T>
T Shuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Exchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
// `source` where it lies in the lane's own part of the warp, else the lane itself.
inline int Within(int source, int width) {
  return source >= 0 && source / width == Lane() / width ? source : Lane();
}

}  // namespace onward::emulated_cuda

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  std::tuple<std::decay_t<Parameters>...> values(
      static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  return onward::emulated_cuda::LaunchGrid(
      *config, [kernel, values = std::move(values)] { std::apply(kernel, values); });
}

namespace onward::emulated_cuda {

// The same with the addresses of the arguments, as the runtime takes those of loaded kernels.
template <typename... Parameters>
cudaError_t LaunchWith(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                       void** arguments) {
  return [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
    return cudaLaunchKernelEx(config, kernel,
                              *static_cast<std::decay_t<Parameters>*>(arguments[kIndices])...);
  }
  (std::index_sequence_for<Parameters...>());
}

}  // namespace onward::emulated_cuda

inline void __syncthreads() { onward::emulated_cuda::SyncBlock(); }
inline void __syncwarp(unsigned mask = ~0u) { onward::emulated_cuda::SyncWarp(mask); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  return onward::emulated_cuda::Ballot(mask, value != 0);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const int first = onward::emulated_cuda::Lane() / width * width;
  return onward::emulated_cuda::Shuffle(mask, value, first + source % width);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)
  return Shuffle(mask, value, Within(Lane() ^ lanes, width));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = warpSize) {
  using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)
  return Shuffle(mask, value, Within(Lane() + static_cast<int>(lanes), width));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = warpSize) {
  using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)
  return Shuffle(mask, value, Within(Lane() - static_cast<int>(lanes), width));
}
template <typename T>
T atomicAdd(T* address, T value) {
  const T before = *address;
  *address = before + value;
  return before;
}
template <typename T>
T atomicCAS(T* address, T compare, T value) {
  const T before = *address;
  if (before == compare) *address = value;
  return before;
}
template <typename T>
T __ldg(const T* address) {
  return *address;
}
