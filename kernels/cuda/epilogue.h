// The end of a product or a convolution, in one pass over its result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/activation_spec.h"
#include "onward/dtype.h"

namespace onward::kernels::cuda {

// y = activation(y + bias + residual), for `count` floats of one type. All lie on the device.
struct Epilogue {
  ActivationSpec activation;
  const void* bias = nullptr;      // one element a channel; may be null
  const void* residual = nullptr;  // as y; may be null, and may be y's memory only where y is read
  int64_t channels = 1;            // those of y, each of `inner` elements
  int64_t inner = 1;

  bool is_nothing() const {
    return activation.kind == Activation::kNone && bias == nullptr && residual == nullptr;
  }
};

// Puts it on the stream. Unimplemented: a dtype that is not a float.
absl::Status RunEpilogue(const Epilogue& epilogue, DType dtype, void* y, int64_t count,
                         cudaStream_t stream);

}  // namespace onward::kernels::cuda
