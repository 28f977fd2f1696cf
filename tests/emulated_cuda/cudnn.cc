// cuDNN's calls that the provider makes, on the emulated device: convolution, bias and pooling of
// float32 NCHW. What the library leaves undefined is refused here.
#include <cudnn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/emulated_cuda/state.h"

using namespace onward::emulated_cuda;  // NOLINT(google-build-using-namespace)

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  int64_t n = 0, c = 0, h = 0, w = 0;
  size_t bytes() const { return static_cast<size_t>(n * c * h * w) * sizeof(float); }
};
struct cudnnFilterStruct {
  int64_t k = 0, c = 0, h = 0, w = 0;
  size_t bytes() const { return static_cast<size_t>(k * c * h * w) * sizeof(float); }
};
struct cudnnConvolutionStruct {
  int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  int64_t h = 1, w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

namespace {

constexpr size_t kWorkspace = size_t{1} << 20;  // of every convolution

#define ENTER(call)        \
  const Entry entry(call); \
  if (entry.error() != cudaSuccess) return CUDNN_STATUS_INTERNAL_ERROR

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
cudnnStatus_t StatusOf(cudaError_t error) {
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

int64_t OutputSize(int64_t input, int64_t pad, int64_t window, int64_t dilation, int64_t stride) {
  return (input + 2 * pad - (dilation * (window - 1) + 1)) / stride + 1;
}

bool Fit(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnConvolutionStruct& conv,
         const cudnnTensorStruct& y) {
  return x.c == w.c * conv.groups && y.n == x.n && y.c == w.k && w.k % conv.groups == 0 &&
         y.h == OutputSize(x.h, conv.pad_h, w.h, conv.dilation_h, conv.stride_h) &&
         y.w == OutputSize(x.w, conv.pad_w, w.w, conv.dilation_w, conv.stride_w);
}

// Adds what one tap of the filters gives to a row of the output.
void AddTap(const float* in, double filter, int64_t size, int64_t first, int64_t step,
            std::vector<double>& row) {
  const auto count = static_cast<int64_t>(row.size());
  const int64_t begin = first >= 0 ? 0 : (step - 1 - first) / step;
  const int64_t end = first >= size ? 0 : std::min(count, (size - 1 - first) / step + 1);
  for (int64_t i = begin; i < end; ++i)
    row[static_cast<size_t>(i)] += filter * static_cast<double>(in[first + i * step]);
}

void Convolve(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
              const cudnnConvolutionStruct& conv, const cudnnTensorStruct& y, const float* in,
              const float* filters, float* out) {
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
             static_cast<double>(filters[k * w.c * w.h * w.w + tap]), x.w,
             b * conv.dilation_w - conv.pad_w, conv.stride_w, row);
    }
    std::copy(row.begin(), row.end(), out + i * y.w);
  }
}

void Pool(const cudnnPoolingStruct& pool, const cudnnTensorStruct& x, const cudnnTensorStruct& y,
          const float* in, float* out) {
  const bool is_max =
      pool.mode == CUDNN_POOLING_MAX || pool.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  for (int64_t i = 0; i < y.n * y.c * y.h * y.w; ++i) {
    const int64_t column = i % y.w, row = i / y.w % y.h, plane = i / (y.w * y.h);
    float most = -std::numeric_limits<float>::infinity();
    double sum = 0;
    int64_t count = 0;
    for (int64_t tap = 0; tap < pool.h * pool.w; ++tap) {
      const int64_t r = row * pool.stride_h + tap / pool.w - pool.pad_h;
      const int64_t s = column * pool.stride_w + tap % pool.w - pool.pad_w;
      if (r < 0 || s < 0 || r >= x.h || s >= x.w) continue;
      const float value = in[(plane * x.h + r) * x.w + s];
      most = value > most || value != value ? value : most;
      sum += static_cast<double>(value);
      ++count;
    }
    if (pool.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) count = pool.h * pool.w;
    out[i] = is_max ? most : static_cast<float>(sum / static_cast<double>(count));
  }
}

}  // namespace

extern "C" {

const char* cudnnGetErrorString(cudnnStatus_t status) {
  thread_local char text[40];
  std::snprintf(text, sizeof(text), "emulated status %d", static_cast<int>(status));
  return text;
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
                                         cudnnDataType_t, int n, int c, int h, int w) {
  *d = {n, c, h, w};
  const double elements = static_cast<double>(n) * c * h * w;
  return Check(n > 0 && c > 0 && h > 0 && w > 0 && elements < 2147483648.0);
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t,
                                         cudnnTensorFormat_t, int k, int c, int h, int w) {
  *d = {k, c, h, w};
  return Check(k > 0 && c > 0 && h > 0 && w > 0);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t,
                                              cudnnDataType_t) {
  *d = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w};
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

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void*,
                                      cudnnTensorDescriptor_t x_descriptor, const void* x,
                                      cudnnFilterDescriptor_t w_descriptor, const void* w,
                                      cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t,
                                      void* workspace, size_t workspace_bytes, const void*,
                                      cudnnTensorDescriptor_t y_descriptor, void* y) {
  ENTER("cudnnConvolutionForward");
  ++GetState().counters.convolutions;
  const cudnnTensorStruct dx = *x_descriptor, dy = *y_descriptor;
  const cudnnFilterStruct dw = *w_descriptor;
  if (!Fit(dx, dw, *conv, dy) || workspace_bytes < kWorkspace ||
      !IsAllocated(workspace, workspace_bytes) || !IsAllocated(x, dx.bytes()) ||
      !IsAllocated(w, dw.bytes()) || !IsAllocated(y, dy.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnConvolutionForward",
                          [dx, dw, dy, x, w, y, conv = *conv, workspace, workspace_bytes] {
                            std::memset(workspace, 0xFF, workspace_bytes);
                            Convolve(dx, dw, conv, dy, static_cast<const float*>(x),
                                     static_cast<const float*>(w), static_cast<float*>(y));
                          }));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void*,
                             cudnnTensorDescriptor_t a_descriptor, const void* a, const void*,
                             cudnnTensorDescriptor_t c_descriptor, void* c) {
  ENTER("cudnnAddTensor");
  const cudnnTensorStruct da = *a_descriptor, dc = *c_descriptor;
  if (da.c != dc.c || da.n != 1 || da.h != 1 || da.w != 1 || !IsAllocated(a, da.bytes()) ||
      !IsAllocated(c, dc.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnAddTensor", [dc, a, c] {
    for (int64_t i = 0; i < dc.n * dc.c * dc.h * dc.w; ++i)
      static_cast<float*>(c)[i] += static_cast<const float*>(a)[i / (dc.h * dc.w) % dc.c];
  }));
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int h, int w, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  *d = {mode, h, w, pad_h, pad_w, stride_h, stride_w};
  return Check(h > 0 && w > 0 && pad_h >= 0 && pad_w >= 0 && pad_h < h && pad_w < w &&
               stride_h > 0 && stride_w > 0);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pool, const void*,
                                  cudnnTensorDescriptor_t x_descriptor, const void* x, const void*,
                                  cudnnTensorDescriptor_t y_descriptor, void* y) {
  ENTER("cudnnPoolingForward");
  const cudnnTensorStruct dx = *x_descriptor, dy = *y_descriptor;
  if (dx.n != dy.n || dx.c != dy.c ||
      dy.h != OutputSize(dx.h, pool->pad_h, pool->h, 1, pool->stride_h) ||
      dy.w != OutputSize(dx.w, pool->pad_w, pool->w, 1, pool->stride_w) ||
      !IsAllocated(x, dx.bytes()) || !IsAllocated(y, dy.bytes()))
    return CUDNN_STATUS_BAD_PARAM;
  return StatusOf(Enqueue(handle->stream, "cudnnPoolingForward", [dx, dy, x, y, pool = *pool] {
    Pool(pool, dx, dy, static_cast<const float*>(x), static_cast<float*>(y));
  }));
}

}  // extern "C"
