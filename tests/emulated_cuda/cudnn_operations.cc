// cuDNN's pointwise operations, products, reductions and reshapes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/emulated_cuda/cudnn_graph.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

double Activated(const GraphObject& settings, cudnnPointwiseMode_t mode, double x) {
  switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD: {
      double lower = 0, upper = std::numeric_limits<double>::infinity();
      if (settings.Has(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP))
        lower = settings.Get<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
      if (settings.Has(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP))
        upper = settings.Get<double>(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
      return x < lower ? lower : x > upper ? upper : x;
    }
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return 1 / (1 + std::exp(-x));
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_IDENTITY:
      return x;
    default:
      Fault("emulated cuDNN: a pointwise mode that it does not have");
  }
}

double Combined(const GraphObject& settings, cudnnPointwiseMode_t mode, double x, double b,
                double condition) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_GT:
      return x > b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_LT:
      return x < b ? 1 : 0;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0 ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return condition != 0 ? x : b;
    default:
      return Activated(settings, mode, x);
  }
}

constexpr cudnnBackendAttributeName_t kPointwiseInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_TDESC};

void RunPointwise(const GraphObject& operation, GraphTensors& tensors) {
  const GraphObject& settings = operation.Object(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = settings.Get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const GraphObject& y = operation.Object(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  Numbers result(DimsOf(y));
  const Numbers* inputs[3] = {};
  for (size_t i = 0; i < 3 && mode != CUDNN_POINTWISE_GEN_INDEX; ++i)
    if (operation.Has(kPointwiseInputs[i]))
      inputs[i] = &tensors.Read(operation.Object(kPointwiseInputs[i]));
  size_t index = 0;
  ForEachPosition(result.dims, [&](const std::vector<int64_t>& position) {
    double operands[3] = {};
    for (size_t i = 0; i < 3; ++i)
      if (inputs[i] != nullptr) operands[i] = inputs[i]->At(position, result.dims);
    result.values[index++] =
        mode == CUDNN_POINTWISE_GEN_INDEX
            ? static_cast<double>(
                  position[static_cast<size_t>(settings.Get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS))])
            : Combined(settings, mode, operands[0], operands[1], operands[2]);
  });
  tensors.Write(y, std::move(result));
}

// How many rows, columns or products of a batch count.
int64_t CountOf(const GraphObject& operation, cudnnBackendAttributeName_t name,
                GraphTensors& tensors, int64_t batch, int64_t all) {
  if (!operation.Has(name)) return all;
  const double count = tensors.Read(operation.Object(name)).values[static_cast<size_t>(batch)];
  return std::min(all, static_cast<int64_t>(count));
}

void RunMatMul(const GraphObject& operation, GraphTensors& tensors) {
  const Numbers& a = tensors.Read(operation.Object(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
  const Numbers& b = tensors.Read(operation.Object(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
  const GraphObject& c = operation.Object(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  Numbers result(DimsOf(c));
  std::vector<int64_t> left = result.dims, right = result.dims;
  const size_t row = result.dims.size() - 2, column = row + 1;
  left[column] = right[row] = a.dims[column];
  size_t index = 0;
  ForEachPosition(result.dims, [&](const std::vector<int64_t>& position) {
    const auto count = [&](cudnnBackendAttributeName_t name, int64_t all) {
      return CountOf(operation, name, tensors, position[0], all);
    };
    const int64_t rows = count(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, result.dims[row]);
    const int64_t columns =
        count(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, result.dims[column]);
    const int64_t products = count(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, left[column]);
    double sum = 0;
    std::vector<int64_t> of_a = position, of_b = position;
    for (int64_t i = 0; i < products && position[row] < rows && position[column] < columns; ++i) {
      of_a[column] = of_b[row] = i;
      sum += a.At(of_a, left) * b.At(of_b, right);
    }
    result.values[index++] = sum;
  });
  tensors.Write(c, std::move(result));
}

void RunReduction(const GraphObject& operation, GraphTensors& tensors) {
  const auto mode = operation.Object(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                        .Get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  const Numbers& x = tensors.Read(operation.Object(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
  const GraphObject& y = operation.Object(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  const bool is_max = mode == CUDNN_REDUCE_TENSOR_MAX;
  if (!is_max && mode != CUDNN_REDUCE_TENSOR_ADD)
    Fault("emulated cuDNN: a reduction that it does not have");
  Numbers result(DimsOf(y));
  if (is_max) {
    std::fill(result.values.begin(), result.values.end(), -std::numeric_limits<double>::infinity());
  }
  size_t index = 0;
  ForEachPosition(x.dims, [&](const std::vector<int64_t>& position) {
    double& value = result.values[result.IndexAt(position, x.dims)];
    const double number = x.values[index++];
    value = is_max ? std::max(value, number) : value + number;
  });
  tensors.Write(y, std::move(result));
}

// Only what exchanges the last two axes.
void RunReshape(const GraphObject& operation, GraphTensors& tensors) {
  const Numbers& x = tensors.Read(operation.Object(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
  const GraphObject& y = operation.Object(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  Numbers result(DimsOf(y));
  size_t index = 0;
  ForEachPosition(result.dims, [&](std::vector<int64_t> position) {
    std::swap(position[position.size() - 2], position.back());
    result.values[index++] = x.At(position, x.dims);
  });
  tensors.Write(y, std::move(result));
}

bool ReshapeFits(const GraphObject& operation) {
  const GraphObject& x = operation.Object(CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
  const GraphObject& y = operation.Object(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  for (const cudnnBackendAttributeName_t name :
       {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES}) {
    std::vector<int64_t> swapped = x.Ints(name);
    if (swapped.size() < 2) return false;
    std::swap(swapped[swapped.size() - 2], swapped.back());
    if (y.Ints(name) != swapped) return false;
  }
  return true;
}

// Returns whether the tensor is the result's box, of one element along some axes, or of heads that
// each stand for several.
bool Broadcasts(const GraphObject& tensor, const std::vector<int64_t>& box) {
  const std::vector<int64_t> dims = DimsOf(tensor);
  if (dims.size() != box.size()) return false;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] != box[axis] && dims[axis] != 1) return false;
  return true;
}

bool MatMulFits(const GraphObject& operation) {
  const std::vector<int64_t> a = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
  const std::vector<int64_t> b = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
  const std::vector<int64_t> c = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  return a.size() == 4 && b.size() == 4 && c.size() == 4 && a[0] == c[0] && b[0] == c[0] &&
         a[1] == c[1] && c[1] % b[1] == 0 && a[2] == c[2] && a[3] == b[2] && b[3] == c[3];
}

}  // namespace

bool OperationFits(const GraphObject& operation) {
  if (IsConvolution(operation)) return ConvolutionFits(operation);
  if (operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) return MatMulFits(operation);
  if (operation.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    const std::vector<int64_t> x = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    const std::vector<int64_t> y = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](int64_t of_x, int64_t of_y) { return of_x % of_y == 0; });
  }
  if (operation.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) return ReshapeFits(operation);
  const std::vector<int64_t> y = DimsOf(operation.Object(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  for (const cudnnBackendAttributeName_t input : kPointwiseInputs)
    if (operation.Has(input) && !Broadcasts(operation.Object(input), y)) return false;
  return true;
}

void RunOperation(const GraphObject& operation, GraphTensors& tensors) {
  if (IsConvolution(operation)) return RunConvolution(operation, tensors);
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return RunPointwise(operation, tensors);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return RunMatMul(operation, tensors);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return RunReduction(operation, tensors);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return RunReshape(operation, tensors);
    default:
      Fault("emulated cuDNN: an operation that it does not have");
  }
}

}  // namespace onward::emulated_cuda
