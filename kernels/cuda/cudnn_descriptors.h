// cuDNN descriptors that free themselves.
#pragma once

#include "absl/strings/str_cat.h"
#include "kernels/bind/window.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/libraries.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::kernels::cuda {

template <typename T, cudnnStatus_t (*Create)(T*), cudnnStatus_t (*Destroy)(T)>
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (handle_ != nullptr) Destroy(handle_);
  }
  absl::Status Init() { return LibraryStatus(Create(&handle_)); }
  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};

using TensorDescriptor =
    Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using PoolDescriptor = Descriptor<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor,
                                  cudnnDestroyPoolingDescriptor>;

inline const void* CudnnOne(DType dtype) {
  static const float one32 = 1;
  static const double one64 = 1;
  return dtype == DType::kFloat64 ? static_cast<const void*>(&one64) : &one32;
}
inline const void* CudnnZero(DType dtype) {
  static const float zero32 = 0;
  static const double zero64 = 0;
  return dtype == DType::kFloat64 ? static_cast<const void*>(&zero64) : &zero32;
}

inline bool FitsInt(int64_t value) { return value >= 0 && value <= INT32_MAX; }

// Unimplemented: a window that cuDNN has no numbers for.
inline absl::Status CheckWindow(const WindowAxis& axis) {
  if (FitsInt(axis.kernel) && FitsInt(axis.stride) && FitsInt(axis.dilation) &&
      FitsInt(axis.pad_begin))
    return absl::OkStatus();
  return absl::UnimplementedError("the device takes windows, strides and pads below 2^31");
}

// NCHW. Unimplemented: an empty tensor, or one of 2^31 elements or more.
inline absl::Status SetNchw(TensorDescriptor& descriptor, DType dtype, int64_t n, int64_t c,
                            int64_t h, int64_t w) {
  const bool fits = FitsInt(n) && FitsInt(c) && FitsInt(h) && FitsInt(w) && FitsInt(n * c) &&
                    FitsInt(h * w) && FitsInt(n * c * (h * w)) && n * c * h * w > 0;
  if (!fits) {
    return absl::UnimplementedError(
        absl::StrCat("the device takes images of 1 to 2^31 - 1 elements, these have ", n, "x", c,
                     "x", h, "x", w, "; use --provider cpu"));
  }
  ONWARD_RETURN_IF_ERROR(descriptor.Init());
  return LibraryStatus(cudnnSetTensor4dDescriptor(
      descriptor.get(), CUDNN_TENSOR_NCHW, CudnnType(dtype), static_cast<int>(n),
      static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)));
}

}  // namespace onward::kernels::cuda
