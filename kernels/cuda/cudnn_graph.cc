#include "kernels/cuda/cudnn_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward::kernels::cuda {
cudnnDataType_t CudnnType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

cudnnDataType_t CudnnSumType(DType dtype) {
  return dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

int CudnnGraph::AddMemory(cudnnDataType_t type, DimsView dims, DimsView strides) {
  const int id = static_cast<int>(tensors_.size());
  tensors_.push_back({GraphTensor::Place::kMemory, type, Dims(dims.begin(), dims.end()),
                      Dims(strides.begin(), strides.end())});
  memory_.push_back(id);
  return id;
}

void CudnnGraph::SetMemory(int tensor, cudnnDataType_t type, DimsView strides) {
  GraphTensor& result = tensors_[static_cast<size_t>(tensor)];
  result.place = GraphTensor::Place::kMemory;
  result.type = type;
  result.strides.assign(strides.begin(), strides.end());
  memory_.push_back(tensor);
}

int CudnnGraph::AddValue(cudnnDataType_t type, double value, size_t rank) {
  const Dims ones(rank, 1);
  tensors_.push_back({GraphTensor::Place::kValue, type, ones, ones, value});
  return static_cast<int>(tensors_.size()) - 1;
}

int CudnnGraph::AddResult(GraphOperation operation, cudnnDataType_t type, DimsView dims) {
  const int id = static_cast<int>(tensors_.size());
  const Dims result(dims.begin(), dims.end());
  tensors_.push_back({GraphTensor::Place::kInside, type, result, Strides(result)});
  operation.output = id;
  operations_.push_back(std::move(operation));
  return id;
}

int CudnnGraph::AddPointwise(cudnnPointwiseMode_t mode, std::initializer_list<int> inputs,
                             cudnnDataType_t type, cudnnDataType_t compute) {
  GraphOperation operation;
  operation.mode = mode;
  operation.compute = compute;
  operation.inputs = inputs;
  Dims dims = tensors_[static_cast<size_t>(operation.inputs[0])].dims;
  for (const int input : inputs) {
    const Dims& other = tensors_[static_cast<size_t>(input)].dims;
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = std::max(dims[i], other[i]);
  }
  return AddResult(std::move(operation), type, dims);
}

int CudnnGraph::AddIndex(int like, int axis) {
  GraphOperation operation;
  operation.mode = CUDNN_POINTWISE_GEN_INDEX;
  operation.axis = axis;
  operation.inputs = {like};
  const Dims dims = tensors_[static_cast<size_t>(like)].dims;
  return AddResult(std::move(operation), CUDNN_DATA_INT32, dims);
}

int CudnnGraph::AddRelu(int input, float lower, float upper) {
  GraphOperation operation;
  operation.mode = CUDNN_POINTWISE_RELU_FWD;
  operation.lower = lower;
  operation.upper = upper;
  operation.inputs = {input};
  const Dims dims = tensors_[static_cast<size_t>(input)].dims;
  return AddResult(std::move(operation), CUDNN_DATA_FLOAT, dims);
}

int CudnnGraph::AddMatMul(int a, int b, std::initializer_list<int> lengths, DimsView result,
                          cudnnDataType_t type) {
  GraphOperation operation;
  operation.kind = GraphOperation::Kind::kMatMul;
  operation.inputs = {a, b};
  operation.inputs.insert(operation.inputs.end(), lengths);
  return AddResult(std::move(operation), type, result);
}

int CudnnGraph::AddReduction(cudnnReduceTensorOp_t mode, int input, DimsView result) {
  GraphOperation operation;
  operation.kind = GraphOperation::Kind::kReduction;
  operation.mode = mode;
  operation.inputs = {input};
  return AddResult(std::move(operation), CUDNN_DATA_FLOAT, result);
}

int CudnnGraph::AddTransposed(int input, cudnnDataType_t type) {
  GraphOperation operation;
  operation.kind = GraphOperation::Kind::kReshape;
  operation.inputs = {input};
  Dims dims = tensors_[static_cast<size_t>(input)].dims;
  Dims strides = tensors_[static_cast<size_t>(input)].strides;
  std::swap(dims[dims.size() - 2], dims.back());
  std::swap(strides[strides.size() - 2], strides.back());
  const int result = AddResult(std::move(operation), type, dims);
  tensors_[static_cast<size_t>(result)].strides = std::move(strides);
  return result;
}

int CudnnGraph::AddConvolution(GraphOperation::Kind kind, std::initializer_list<int> inputs,
                               std::vector<GraphAxis> axes, cudnnDataType_t compute,
                               DimsView result) {
  GraphOperation operation;
  operation.kind = kind;
  operation.compute = compute;
  operation.inputs = inputs;
  operation.axes = std::move(axes);
  return AddResult(std::move(operation), compute, result);
}

std::string CudnnGraph::Text() const {
  std::string text;
  for (const GraphTensor& t : tensors_) {
    absl::StrAppend(&text, static_cast<int>(t.place), ":", t.type, ":", absl::StrJoin(t.dims, ","),
                    ":", absl::StrJoin(t.strides, ","), ":", t.value, ";");
  }
  for (const GraphOperation& o : operations_) {
    absl::StrAppend(&text, static_cast<int>(o.kind), ":", o.mode, ":", o.axis, ":", o.lower, ":",
                    o.upper, ":", o.compute, ":", absl::StrJoin(o.inputs, ","), ">", o.output);
    for (const GraphAxis& a : o.axes)
      absl::StrAppend(&text, ":", a.pad_begin, ",", a.pad_end, ",", a.stride, ",", a.dilation);
    text += ";";
  }
  absl::StrAppend(&text, absl::StrJoin(memory_, ","));
  return text;
}

}  // namespace onward::kernels::cuda
