// Convolutions of images as graphs of cuDNN's operations, NCHW.
#pragma once

#include "absl/status/status.h"
#include "kernels/bind/window.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/cudnn_plan.h"
#include "onward/precision.h"

namespace onward::kernels::cuda {

struct ConvSizes {
  int64_t batch, channels, filters, group;
  WindowAxis axes[2];
};

// Operations behind a convolution that its graph has, too.
struct ConvEnd {
  bool bias = false, residual = false, relu = false;
  bool is_nothing() const { return !bias && !residual && !relu; }
};

// Unimplemented: tensors or windows that cuDNN has no numbers for.
absl::Status CheckConvSizes(const ConvSizes& sizes);

// Memory: X, W, the bias and the residual where `end` has them, Y.
CudnnGraph ConvGraph(const ConvSizes& sizes, DType dtype, const ConvEnd& end);
// Memory: dY, W, dX.
CudnnGraph ConvImageGradientGraph(const ConvSizes& sizes, DType dtype);
// Memory: dY, X, dW.
CudnnGraph ConvWeightGradientGraph(const ConvSizes& sizes, DType dtype);

// Products of 16-bit floats are exact in tensor cores; those of float32 lose bits there.
PlanDemands ConvDemands(DType dtype, Precision precision);

}  // namespace onward::kernels::cuda
