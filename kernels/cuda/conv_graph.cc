#include "kernels/cuda/conv_graph.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

Dims Strides(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

Dims ImagesOf(const ConvSizes& s) {
  return {s.batch, s.channels, s.axes[0].input, s.axes[1].input};
}
Dims FiltersOf(const ConvSizes& s) {
  return {s.filters, s.channels / s.group, s.axes[0].kernel, s.axes[1].kernel};
}
Dims ResultsOf(const ConvSizes& s) {
  return {s.batch, s.filters, s.axes[0].output, s.axes[1].output};
}

std::vector<GraphAxis> AxesOf(const ConvSizes& s) {
  std::vector<GraphAxis> axes;
  for (const WindowAxis& axis : s.axes)
    axes.push_back({axis.pad_begin, axis.pad_end, axis.stride, axis.dilation});
  return axes;
}

int AddContiguous(CudnnGraph& graph, cudnnDataType_t type, const Dims& dims) {
  return graph.AddMemory(type, dims, Strides(dims));
}

}  // namespace

absl::Status CheckConvSizes(const ConvSizes& sizes) {
  for (const WindowAxis& axis : sizes.axes)
    for (const int64_t value :
         {axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end})
      if (value < 0 || value > kMost)
        return absl::UnimplementedError("the device takes windows, strides and pads below 2^31");
  for (const Dims& dims : {ImagesOf(sizes), FiltersOf(sizes), ResultsOf(sizes)}) {
    const absl::StatusOr<int64_t> count = CheckedNumElements(dims);
    if (!count.ok() || *count < 1 || *count > kMost) {
      return absl::UnimplementedError(
          absl::StrCat("the device takes images of 1 to 2^31 - 1 elements, these have ",
                       DimsString(dims), "; use --provider cpu"));
    }
  }
  return absl::OkStatus();
}

CudnnGraph ConvGraph(const ConvSizes& sizes, DType dtype, const ConvEnd& end) {
  const cudnnDataType_t type = CudnnType(dtype), sum = CudnnSumType(dtype);
  const Dims result = ResultsOf(sizes);
  CudnnGraph graph;
  const int x = AddContiguous(graph, type, ImagesOf(sizes));
  const int w = AddContiguous(graph, type, FiltersOf(sizes));
  const int bias = end.bias ? AddContiguous(graph, type, {1, sizes.filters, 1, 1}) : -1;
  const int residual = end.residual ? AddContiguous(graph, type, result) : -1;
  int y =
      graph.AddConvolution(GraphOperation::Kind::kConvolution, {x, w}, AxesOf(sizes), sum, result);
  // In the order that cuDNN's kernels have.
  if (end.residual) y = graph.AddPointwise(CUDNN_POINTWISE_ADD, {y, residual});
  if (end.bias) y = graph.AddPointwise(CUDNN_POINTWISE_ADD, {y, bias});
  if (end.relu) y = graph.AddRelu(y, 0, 0);
  graph.SetMemory(y, type, Strides(result));
  return graph;
}

CudnnGraph ConvImageGradientGraph(const ConvSizes& sizes, DType dtype) {
  const cudnnDataType_t type = CudnnType(dtype);
  CudnnGraph graph;
  const int dy = AddContiguous(graph, type, ResultsOf(sizes));
  const int w = AddContiguous(graph, type, FiltersOf(sizes));
  const Dims images = ImagesOf(sizes);
  const int dx = graph.AddConvolution(GraphOperation::Kind::kConvolutionImages, {dy, w},
                                      AxesOf(sizes), CudnnSumType(dtype), images);
  graph.SetMemory(dx, type, Strides(images));
  return graph;
}

CudnnGraph ConvWeightGradientGraph(const ConvSizes& sizes, DType dtype) {
  const cudnnDataType_t type = CudnnType(dtype);
  CudnnGraph graph;
  const int dy = AddContiguous(graph, type, ResultsOf(sizes));
  const int x = AddContiguous(graph, type, ImagesOf(sizes));
  const Dims filters = FiltersOf(sizes);
  const int dw = graph.AddConvolution(GraphOperation::Kind::kConvolutionFilters, {dy, x},
                                      AxesOf(sizes), CudnnSumType(dtype), filters);
  graph.SetMemory(dw, type, Strides(filters));
  return graph;
}

PlanDemands ConvDemands(DType dtype, Precision precision) {
  PlanDemands demands;
  demands.tensor_cores = BitSize(dtype) == 16 || precision == Precision::kFast;
  return demands;
}

}  // namespace onward::kernels::cuda
