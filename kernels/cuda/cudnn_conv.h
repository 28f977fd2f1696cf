// A convolution of images as cuDNN describes it: NCHW with symmetric padding.
#pragma once

#include "kernels/cuda/cudnn_descriptors.h"
#include "onward/precision.h"

namespace onward::kernels::cuda {

struct ConvSizes {
  int64_t batch, channels, filters, group;
  WindowAxis axes[2];
};

struct ConvDescriptors {
  TensorDescriptor x, y;
  FilterDescriptor w;
  ConvDescriptor conv;

  absl::Status Init(const ConvSizes& g, DType dtype, Precision precision) {
    const WindowAxis &h = g.axes[0], &v = g.axes[1];
    ONWARD_RETURN_IF_ERROR(CheckWindow(h));
    ONWARD_RETURN_IF_ERROR(CheckWindow(v));
    ONWARD_RETURN_IF_ERROR(SetNchw(x, dtype, g.batch, g.channels, h.input, v.input));
    ONWARD_RETURN_IF_ERROR(SetNchw(y, dtype, g.batch, g.filters, h.output, v.output));
    ONWARD_RETURN_IF_ERROR(w.Init());
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnSetFilter4dDescriptor(
        w.get(), CudnnType(dtype), CUDNN_TENSOR_NCHW, static_cast<int>(g.filters),
        static_cast<int>(g.channels / g.group), static_cast<int>(h.kernel),
        static_cast<int>(v.kernel))));
    ONWARD_RETURN_IF_ERROR(conv.Init());
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnSetConvolution2dDescriptor(
        conv.get(), static_cast<int>(h.pad_begin), static_cast<int>(v.pad_begin),
        static_cast<int>(h.stride), static_cast<int>(v.stride), static_cast<int>(h.dilation),
        static_cast<int>(v.dilation), CUDNN_CROSS_CORRELATION, CudnnSumType(dtype))));
    ONWARD_RETURN_IF_ERROR(
        LibraryStatus(cudnnSetConvolutionGroupCount(conv.get(), static_cast<int>(g.group))));
    // Products of 16-bit floats are exact in tensor cores; those of float32 lose bits there.
    const cudnnMathType_t math = BitSize(dtype) == 16            ? CUDNN_TENSOR_OP_MATH
                                 : precision == Precision::kFast ? CUDNN_DEFAULT_MATH
                                                                 : CUDNN_FMA_MATH;
    return LibraryStatus(cudnnSetConvolutionMathType(conv.get(), math));
  }
};

}  // namespace onward::kernels::cuda
