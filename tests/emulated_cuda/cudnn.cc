// cuDNN's calls that the provider makes, on the emulated device: pooling of floats, NCHW; its
// graphs are in cudnn_backend.cc. What the library leaves undefined is refused here.
#include <cudnn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "onward/small_float.h"
#include "tests/emulated_cuda/cudnn_handle.h"

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

static size_t WidthOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}
struct cudnnTensorStruct {
  int64_t n = 0, c = 0, h = 0, w = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t bytes() const { return static_cast<size_t>(n * c * h * w) * WidthOf(type); }
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  int64_t h = 1, w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

namespace {

// Whether the scales are 1 and `to`, in the type that sums have.
bool AreScales(cudnnDataType_t type, const void* alpha, const void* beta, double to) {
  const auto value = [&](const void* scale) {
    return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(scale)
                                     : static_cast<double>(*static_cast<const float*>(scale));
  };
  return value(alpha) == 1 && value(beta) == to;
}

// Calls f(T()) with the type of the elements.
template <typename F>
void Dispatch(cudnnDataType_t type, F&& f) {
  if (type == CUDNN_DATA_DOUBLE) return f(double());
  if (type == CUDNN_DATA_HALF) return f(onward::Float16());
  if (type == CUDNN_DATA_BFLOAT16) return f(onward::BFloat16());
  f(float());
}

template <typename T>
double NumberOf(T element) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(element));
  } else {
    return static_cast<double>(element);
  }
}
// Rounded as from the sums' type.
template <typename T>
T ElementOf(double number) {
  if constexpr (sizeof(T) == 8) {
    return number;
  } else {
    return static_cast<T>(static_cast<float>(number));
  }
}

template <typename Descriptor>
cudnnStatus_t Create(Descriptor* result) {
  ++GetState().counters.descriptors;
  *result = new std::remove_pointer_t<Descriptor>;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Descriptor>
cudnnStatus_t Destroy(Descriptor descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Check(bool right) { return right ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM; }
int64_t OutputSize(int64_t input, int64_t pad, int64_t window, int64_t dilation, int64_t stride) {
  return (input + 2 * pad - (dilation * (window - 1) + 1)) / stride + 1;
}

template <typename T>
void Pool(const cudnnPoolingStruct& pool, const cudnnTensorStruct& x, const cudnnTensorStruct& y,
          const T* in, T* out) {
  const bool is_max =
      pool.mode == CUDNN_POOLING_MAX || pool.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  for (int64_t i = 0; i < y.n * y.c * y.h * y.w; ++i) {
    const int64_t column = i % y.w, row = i / y.w % y.h, plane = i / (y.w * y.h);
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    int64_t count = 0;
    for (int64_t tap = 0; tap < pool.h * pool.w; ++tap) {
      const int64_t r = row * pool.stride_h + tap / pool.w - pool.pad_h;
      const int64_t s = column * pool.stride_w + tap % pool.w - pool.pad_w;
      if (r < 0 || s < 0 || r >= x.h || s >= x.w) continue;
      const double value = NumberOf(in[(plane * x.h + r) * x.w + s]);
      most = value > most || value != value ? value : most;
      sum += value;
      ++count;
    }
    if (pool.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) count = pool.h * pool.w;
    out[i] = ElementOf<T>(is_max ? most : sum / static_cast<double>(count));
  }
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  thread_local char text[40];
  std::snprintf(text, sizeof(text), "emulated status %d", static_cast<int>(status));
  return text;
}

void cudnnGetLastErrorString(char* message, size_t size) {
  std::snprintf(message, size, "the emulated device refuses it");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  ENTER("cudnnCreate");
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d) { return Destroy(d); }

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  *d = {n, c, h, w, type};
  const double elements = static_cast<double>(n) * c * h * w;
  return Check(n > 0 && c > 0 && h > 0 && w > 0 && elements < 2147483648.0);
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int h, int w, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  *d = {mode, h, w, pad_h, pad_w, stride_h, stride_w};
  return Check(h > 0 && w > 0 && pad_h >= 0 && pad_w >= 0 && pad_h < h && pad_w < w &&
               stride_h > 0 && stride_w > 0);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pool,
                                  const void* alpha, cudnnTensorDescriptor_t x_descriptor,
                                  const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_descriptor, void* y) {
  ENTER("cudnnPoolingForward");
  const cudnnTensorStruct dx = *x_descriptor, dy = *y_descriptor;
  if (dx.type != dy.type || !AreScales(dx.type, alpha, beta, 0) || dx.n != dy.n || dx.c != dy.c ||
      dy.h != OutputSize(dx.h, pool->pad_h, pool->h, 1, pool->stride_h) ||
      dy.w != OutputSize(dx.w, pool->pad_w, pool->w, 1, pool->stride_w) ||
      !IsAllocated(x, dx.bytes()) || !IsAllocated(y, dy.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnPoolingForward", [dx, dy, x, y, pool = *pool] {
    Dispatch(dx.type, [&](auto element) {
      using T = decltype(element);
      Pool(pool, dx, dy, static_cast<const T*>(x), static_cast<T*>(y));
    });
  }));
}

}  // extern "C"
