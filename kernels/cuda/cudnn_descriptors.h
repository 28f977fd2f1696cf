// cuDNN descriptors that free themselves.
#pragma once

#include "kernels/cuda/status.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::cuda {

template <typename T, cudnnStatus_t (*Create)(T*), cudnnStatus_t (*Destroy)(T)>
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (handle_ != nullptr) Destroy(handle_);
  }
  absl::Status Init() { return ToStatus(Create(&handle_)); }
  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};

using TensorDescriptor =
    Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvDescriptor = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                  cudnnDestroyConvolutionDescriptor>;
using PoolDescriptor = Descriptor<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor,
                                  cudnnDestroyPoolingDescriptor>;

// float32 NCHW.
inline absl::Status SetNchw(TensorDescriptor& descriptor, int64_t n, int64_t c, int64_t h,
                            int64_t w) {
  ONWARD_RETURN_IF_ERROR(descriptor.Init());
  return ToStatus(cudnnSetTensor4dDescriptor(descriptor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                             static_cast<int>(n), static_cast<int>(c),
                                             static_cast<int>(h), static_cast<int>(w)));
}

}  // namespace onward::cuda
