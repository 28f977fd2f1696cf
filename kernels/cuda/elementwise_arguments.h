// The argument of the kernels of a fused elementwise group. NVRTC compiles this, too.
#pragma once

#include <cstdint>

#include "kernels/cuda/index_math.cuh"

namespace onward::kernels::cuda {

inline constexpr int kMostElementwiseInputs = 12, kMostElementwiseOutputs = 4;
inline constexpr int kMostElementwiseDims = 8;

// Indices below 2^31, and any.
struct NarrowIndex {
  using Number = uint32_t;
  using ByDim = Divisor;
};
struct WideIndex {
  using Number = int64_t;
  using ByDim = WideDivisor;
};

// A loop over the outputs, all of one shape. `dims` and `strides` are those of BroadcastLoop.
template <typename I>
struct ElementwiseArguments {
  const void* inputs[kMostElementwiseInputs];
  void* outputs[kMostElementwiseOutputs];
  typename I::Number packs;  // steps of a loop over packs
  typename I::Number first;  // elements before those that packs do not hold
  typename I::Number count;  // elements
  int32_t rank;
  // The input has one element for all of a pack.
  bool fills[kMostElementwiseInputs];
  typename I::ByDim dims[kMostElementwiseDims];
  typename I::Number strides[kMostElementwiseInputs][kMostElementwiseDims];
};

}  // namespace onward::kernels::cuda
