// cuDNN's calls that the provider makes, on the emulated device: convolution, bias and pooling of
// floats, NCHW. What the library leaves undefined is refused here.
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
struct cudnnFilterStruct {
  int64_t k = 0, c = 0, h = 0, w = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t bytes() const { return static_cast<size_t>(k * c * h * w) * WidthOf(type); }
};
struct cudnnConvolutionStruct {
  int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  cudnnDataType_t sum = CUDNN_DATA_FLOAT;
  int64_t groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  int64_t h = 1, w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

namespace {

constexpr size_t kWorkspace = size_t{1} << 20;  // of every convolution

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

bool Fit(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnConvolutionStruct& conv,
         const cudnnTensorStruct& y) {
  const bool sums = conv.sum == (x.type == CUDNN_DATA_DOUBLE ? x.type : CUDNN_DATA_FLOAT);
  return sums && x.type == w.type && x.type == y.type && x.c == w.c * conv.groups && y.n == x.n &&
         y.c == w.k && w.k % conv.groups == 0 &&
         y.h == OutputSize(x.h, conv.pad_h, w.h, conv.dilation_h, conv.stride_h) &&
         y.w == OutputSize(x.w, conv.pad_w, w.w, conv.dilation_w, conv.stride_w);
}

// Adds what one tap of the filters gives to a row of the output.
template <typename T>
void AddTap(const T* in, double filter, int64_t size, int64_t first, int64_t step,
            std::vector<double>& row) {
  const auto count = static_cast<int64_t>(row.size());
  const int64_t begin = first >= 0 ? 0 : (step - 1 - first) / step;
  const int64_t end = first >= size ? 0 : std::min(count, (size - 1 - first) / step + 1);
  for (int64_t i = begin; i < end; ++i)
    row[static_cast<size_t>(i)] += filter * NumberOf(in[first + i * step]);
}

template <typename T>
void Convolve(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
              const cudnnConvolutionStruct& conv, const cudnnTensorStruct& y, const T* in,
              const T* filters, T* out) {
  const int64_t filters_of_group = w.k / conv.groups;
  std::vector<double> row(static_cast<size_t>(y.w));
  for (int64_t i = 0; i < y.n * y.c * y.h; ++i) {
    const int64_t k = i / y.h % y.c, n = i / (y.h * y.c);
    std::fill(row.begin(), row.end(), 0);
    for (int64_t tap = 0; tap < w.c * w.h * w.w; ++tap) {
      const int64_t b = tap % w.w, a = tap / w.w % w.h, c = tap / (w.w * w.h);
      const int64_t r = i % y.h * conv.stride_h + a * conv.dilation_h - conv.pad_h;
      if (r < 0 || r >= x.h) continue;
      const int64_t channel = k / filters_of_group * w.c + c;
      AddTap(in + ((n * x.c + channel) * x.h + r) * x.w,
             NumberOf(filters[k * w.c * w.h * w.w + tap]), x.w, b * conv.dilation_w - conv.pad_w,
             conv.stride_w, row);
    }
    std::transform(row.begin(), row.end(), out + i * y.w, ElementOf<T>);
  }
}

// The gradient of the filters: each is summed over the batch and all outputs that it makes.
template <typename T>
void CorrelateFilters(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
                      const cudnnConvolutionStruct& conv, const cudnnTensorStruct& y, const T* in,
                      const T* upstream, T* filters) {
  const int64_t filters_of_group = w.k / conv.groups;
  for (int64_t i = 0; i < w.k * w.c * w.h * w.w; ++i) {
    const int64_t b = i % w.w, a = i / w.w % w.h, c = i / (w.w * w.h) % w.c,
                  k = i / (w.c * w.h * w.w);
    const int64_t channel = k / filters_of_group * w.c + c;
    double sum = 0;
    for (int64_t n = 0; n < x.n; ++n) {
      for (int64_t row = 0; row < y.h; ++row) {
        const int64_t r = row * conv.stride_h + a * conv.dilation_h - conv.pad_h;
        if (r < 0 || r >= x.h) continue;
        for (int64_t column = 0; column < y.w; ++column) {
          const int64_t s = column * conv.stride_w + b * conv.dilation_w - conv.pad_w;
          if (s < 0 || s >= x.w) continue;
          sum += NumberOf(in[((n * x.c + channel) * x.h + r) * x.w + s]) *
                 NumberOf(upstream[((n * y.c + k) * y.h + row) * y.w + column]);
        }
      }
    }
    filters[i] = ElementOf<T>(sum);
  }
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
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* d) {
  return Create(d);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) {
  return Destroy(d);
}
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d) { return Destroy(d); }

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  *d = {n, c, h, w, type};
  const double elements = static_cast<double>(n) * c * h * w;
  return Check(n > 0 && c > 0 && h > 0 && w > 0 && elements < 2147483648.0);
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int k, int c, int h, int w) {
  *d = {k, c, h, w, type};
  return Check(k > 0 && c > 0 && h > 0 && w > 0);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t,
                                              cudnnDataType_t sum) {
  *d = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, sum};
  return Check(pad_h >= 0 && pad_w >= 0 && stride_h > 0 && stride_w > 0 && dilation_h > 0 &&
               dilation_w > 0);
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups) {
  d->groups = groups;
  return Check(groups > 0);
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
  d->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t conv,
                                                     cudnnTensorDescriptor_t y, int most,
                                                     int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  ENTER("cudnnGetConvolutionForwardAlgorithm_v7");
  ++GetState().counters.heuristics;
  if (most < 1 || !Fit(*x, *w, *conv, *y)) return CUDNN_STATUS_BAD_PARAM;
  results[0] = {};
  results[0].algo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  results[0].status = CUDNN_STATUS_SUCCESS;
  results[0].memory = kWorkspace;
  results[0].determinism = CUDNN_DETERMINISTIC;
  results[0].mathType = conv->math;
  *found = 1;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t x_descriptor, const void* x,
                                      cudnnFilterDescriptor_t w_descriptor, const void* w,
                                      cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t,
                                      void* workspace, size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_descriptor, void* y) {
  ENTER("cudnnConvolutionForward");
  ++GetState().counters.convolutions;
  const cudnnTensorStruct dx = *x_descriptor, dy = *y_descriptor;
  const cudnnFilterStruct dw = *w_descriptor;
  if (!Fit(dx, dw, *conv, dy) || !AreScales(dx.type, alpha, beta, 0) ||
      workspace_bytes < kWorkspace || !IsAllocated(workspace, workspace_bytes) ||
      !IsAllocated(x, dx.bytes()) || !IsAllocated(w, dw.bytes()) || !IsAllocated(y, dy.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnConvolutionForward",
                          [dx, dw, dy, x, w, y, conv = *conv, workspace, workspace_bytes] {
                            std::memset(workspace, 0xFF, workspace_bytes);
                            Dispatch(dx.type, [&](auto element) {
                              using T = decltype(element);
                              Convolve(dx, dw, conv, dy, static_cast<const T*>(x),
                                       static_cast<const T*>(w), static_cast<T*>(y));
                            });
                          }));
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t conv, cudnnFilterDescriptor_t w, int most, int* found,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  ENTER("cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  ++GetState().counters.heuristics;
  if (most < 2 || !Fit(*x, *w, *conv, *y)) return CUDNN_STATUS_BAD_PARAM;
  // The fastest adds up in any order.
  for (int i = 0; i < 2; ++i) {
    results[i] = {};
    results[i].algo =
        i == 0 ? CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 : CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
    results[i].status = CUDNN_STATUS_SUCCESS;
    results[i].memory = kWorkspace;
    results[i].determinism = i == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
    results[i].mathType = conv->math;
  }
  *found = 2;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_descriptor, const void* x,
                                             cudnnTensorDescriptor_t y_descriptor, const void* y,
                                             cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t, void* workspace,
                                             size_t workspace_bytes, const void* beta,
                                             cudnnFilterDescriptor_t w_descriptor, void* w) {
  ENTER("cudnnConvolutionBackwardFilter");
  ++GetState().counters.convolutions;
  const cudnnTensorStruct dx = *x_descriptor, dy = *y_descriptor;
  const cudnnFilterStruct dw = *w_descriptor;
  if (!Fit(dx, dw, *conv, dy) || !AreScales(dx.type, alpha, beta, 0) ||
      workspace_bytes < kWorkspace || !IsAllocated(workspace, workspace_bytes) ||
      !IsAllocated(x, dx.bytes()) || !IsAllocated(w, dw.bytes()) || !IsAllocated(y, dy.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnConvolutionBackwardFilter",
                          [dx, dw, dy, x, w, y, conv = *conv, workspace, workspace_bytes] {
                            std::memset(workspace, 0xFF, workspace_bytes);
                            Dispatch(dx.type, [&](auto element) {
                              using T = decltype(element);
                              CorrelateFilters(dx, dw, conv, dy, static_cast<const T*>(x),
                                               static_cast<const T*>(y), static_cast<T*>(w));
                            });
                          }));
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
