// cuDNN's convolutions and their gradients: each output is a sum over what it is made of.
#include <algorithm>

#include "tests/emulated_cuda/cudnn_graph.h"

namespace onward::emulated_cuda {
namespace {

// Tensors of a convolution: images x, filters w, results y, and what its result is multiplied by.
struct Parts {
  const GraphObject &conv, &x, &w, &y;
  cudnnBackendAttributeName_t alpha;
};
Parts PartsOf(const GraphObject& o) {
  switch (o.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY),
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY),
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA};
    default:
      return {o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
              o.Object(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA};
  }
}

// As cuDNN does, of the type that it computes in, whatever type the attribute was given.
double AlphaOf(const GraphObject& operation, const Parts& parts) {
  if (parts.conv.Get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_DOUBLE)
    return operation.Get<double>(parts.alpha);
  return operation.Get<float>(parts.alpha);
}

// A convolution of images in two dims; those of one have a row.
struct Window {
  std::vector<int64_t> pads, strides, dilations, x, w, y;

  explicit Window(const Parts& parts)
      : pads(parts.conv.Ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)),
        strides(parts.conv.Ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)),
        dilations(parts.conv.Ints(CUDNN_ATTR_CONVOLUTION_DILATIONS)),
        x(DimsOf(parts.x)),
        w(DimsOf(parts.w)),
        y(DimsOf(parts.y)) {}

  int64_t filters_of_group() const { return w[0] / (x[1] / w[1]); }
  // The columns of y, [begin, end), whose window has its column `tap` inside of x.
  void ColumnsOf(int64_t tap, int64_t* begin, int64_t* end) const {
    const int64_t first = tap * dilations[1] - pads[1];
    *begin = first >= 0 ? 0 : (strides[1] - 1 - first) / strides[1];
    *end = first >= x[3] ? 0 : std::min(y[3], (x[3] - 1 - first) / strides[1] + 1);
  }
};

// Calls f(row of x, its column for column 0 of y, row of y, place in w, begin, end) for each row of
// products: those of columns [begin, end) of a row of y, which are the columns' `strides[1]` apart
// in x, with one filter's number. Rows are counted over batch and channels.
template <typename F>
void ForEachRow(const Window& g, F&& f) {
  const int64_t taps = g.w[2] * g.w[3];
  for (int64_t i = 0; i < g.y[0] * g.y[1] * g.y[2]; ++i) {
    const int64_t k = i / g.y[2] % g.y[1], n = i / (g.y[2] * g.y[1]);
    for (int64_t tap = 0; tap < g.w[1] * taps; ++tap) {
      const int64_t b = tap % g.w[3], a = tap / g.w[3] % g.w[2], c = tap / taps;
      const int64_t row = i % g.y[2] * g.strides[0] + a * g.dilations[0] - g.pads[0];
      if (row < 0 || row >= g.x[2]) continue;
      int64_t begin, end;
      g.ColumnsOf(b, &begin, &end);
      const int64_t channel = k / g.filters_of_group() * g.w[1] + c;
      f((n * g.x[1] + channel) * g.x[2] + row, b * g.dilations[1] - g.pads[1], i,
        k * g.w[1] * taps + tap, begin, end);
    }
  }
}

}  // namespace

bool IsConvolution(const GraphObject& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

bool ConvolutionFits(const GraphObject& operation) {
  const Parts parts = PartsOf(operation);
  const Window g(parts);
  const std::vector<int64_t> after = parts.conv.Ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (g.x.size() != 4 || g.w.size() != 4 || g.y.size() != 4 || g.pads.size() != 2) return false;
  if (g.x[1] % g.w[1] != 0 || g.w[0] % (g.x[1] / g.w[1]) != 0) return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = (g.w[2 + i] - 1) * g.dilations[i] + 1;
    const int64_t room = g.x[2 + i] + g.pads[i] + after[i] - extent;
    if (g.pads[i] < 0 || g.strides[i] < 1 || g.dilations[i] < 1 || room < 0 ||
        room / g.strides[i] + 1 != g.y[2 + i])
      return false;
  }
  return g.y[0] == g.x[0] && g.y[1] == g.w[0];
}

void RunConvolution(const GraphObject& operation, GraphTensors& tensors) {
  const Parts parts = PartsOf(operation);
  const Window g(parts);
  const auto run = [&](const GraphObject& result, const GraphObject& first,
                       const GraphObject& second, auto&& add) {
    const double *a = tensors.Read(first).values.data(), *b = tensors.Read(second).values.data();
    Numbers numbers(DimsOf(result));
    double* sums = numbers.values.data();
    const double alpha = AlphaOf(operation, parts);
    ForEachRow(g, [&](int64_t x, int64_t column, int64_t y, int64_t w, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        add(sums, a, b, x * g.x[3] + column + i * g.strides[1], y * g.y[3] + i, w);
    });
    for (double& number : numbers.values) number *= alpha;
    tensors.Write(result, std::move(numbers));
  };
  using Place = int64_t;
  if (operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return run(parts.x, parts.y, parts.w,
               [](double* sums, const double* dy, const double* filters, Place x, Place y,
                  Place w) { sums[x] += dy[y] * filters[w]; });
  }
  if (operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) {
    return run(parts.w, parts.y, parts.x,
               [](double* sums, const double* dy, const double* images, Place x, Place y, Place w) {
                 sums[w] += dy[y] * images[x];
               });
  }
  run(parts.y, parts.x, parts.w,
      [](double* sums, const double* images, const double* filters, Place x, Place y, Place w) {
        sums[y] += images[x] * filters[w];
      });
}

}  // namespace onward::emulated_cuda
