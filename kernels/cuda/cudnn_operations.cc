#include "kernels/cuda/cudnn_operations.h"

#include <utility>

#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int64_t kAlignment = 16;  // of tensors in memory, in bytes

BackendDescriptor DescribeTensor(const GraphTensor& tensor, int id) {
  BackendDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  d.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
        absl::Span<const int64_t>(tensor.dims.data(), tensor.dims.size()));
  d.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
        absl::Span<const int64_t>(tensor.strides.data(), tensor.strides.size()));
  d.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, GraphTensorId(id));
  d.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  d.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN,
        tensor.place == GraphTensor::Place::kInside);
  d.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN,
        tensor.place == GraphTensor::Place::kValue);
  return d;
}

// Names of the attributes of one kind of convolution; `inputs` in the order of the operation's.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t part, alpha, beta, inputs[2], output;
};

const ConvolutionNames& NamesOf(GraphOperation::Kind kind) {
  static constexpr ConvolutionNames kForward = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  static constexpr ConvolutionNames kImages = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
  static constexpr ConvolutionNames kFilters = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};
  if (kind == GraphOperation::Kind::kConvolutionImages) return kImages;
  return kind == GraphOperation::Kind::kConvolutionFilters ? kFilters : kForward;
}

class Describer {
 public:
  explicit Describer(const CudnnGraph& graph) : graph_(graph) {}

  absl::StatusOr<GraphDescriptors> Run() {
    for (size_t i = 0; i < graph_.tensors().size(); ++i) {
      result_.tensors.push_back(DescribeTensor(graph_.tensors()[i], static_cast<int>(i)));
      ONWARD_RETURN_IF_ERROR(result_.tensors.back().Finalize());
    }
    for (const GraphOperation& operation : graph_.operations()) {
      switch (operation.kind) {
        case GraphOperation::Kind::kPointwise:
          ONWARD_RETURN_IF_ERROR(Pointwise(operation));
          break;
        case GraphOperation::Kind::kMatMul:
          ONWARD_RETURN_IF_ERROR(MatMul(operation));
          break;
        case GraphOperation::Kind::kReduction:
          ONWARD_RETURN_IF_ERROR(Reduction(operation));
          break;
        case GraphOperation::Kind::kReshape:
          ONWARD_RETURN_IF_ERROR(Reshape(operation));
          break;
        default:
          ONWARD_RETURN_IF_ERROR(Convolution(operation));
      }
    }
    return std::move(result_);
  }

 private:
  const BackendDescriptor& Tensor(int id) const { return result_.tensors[static_cast<size_t>(id)]; }

  // Ends the operation, whose settings are `part`.
  absl::Status Add(BackendDescriptor part, BackendDescriptor operation) {
    ONWARD_RETURN_IF_ERROR(operation.Finalize());
    result_.parts.push_back(std::move(part));
    result_.operations.push_back(std::move(operation));
    return absl::OkStatus();
  }

  absl::Status Pointwise(const GraphOperation& o) {
    const auto mode = static_cast<cudnnPointwiseMode_t>(o.mode);
    BackendDescriptor part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    part.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    part.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, o.compute);
    if (o.axis >= 0)
      part.Set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, static_cast<int64_t>(o.axis));
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      part.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE,
               static_cast<double>(o.lower));
      if (o.upper > 0)
        part.Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE,
                 static_cast<double>(o.upper));
    }
    ONWARD_RETURN_IF_ERROR(part.Finalize());
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part);
    constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                       CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                       CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    for (size_t i = 0; i < o.inputs.size(); ++i) operation.Set(kInputs[i], Tensor(o.inputs[i]));
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, Tensor(o.output));
    return Add(std::move(part), std::move(operation));
  }

  absl::Status MatMul(const GraphOperation& o) {
    BackendDescriptor part(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    part.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, o.compute);
    ONWARD_RETURN_IF_ERROR(part.Finalize());
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_MATMUL_DESC, part);
    operation.Set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, Tensor(o.inputs[0]));
    operation.Set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, Tensor(o.inputs[1]));
    constexpr cudnnBackendAttributeName_t kLengths[] = {
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC};
    for (size_t i = 2; i < o.inputs.size(); ++i)
      if (o.inputs[i] >= 0) operation.Set(kLengths[i - 2], Tensor(o.inputs[i]));
    operation.Set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, Tensor(o.output));
    return Add(std::move(part), std::move(operation));
  }

  absl::Status Reduction(const GraphOperation& o) {
    BackendDescriptor part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    part.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
             static_cast<cudnnReduceTensorOp_t>(o.mode));
    part.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, o.compute);
    ONWARD_RETURN_IF_ERROR(part.Finalize());
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, part);
    operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, Tensor(o.inputs[0]));
    operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, Tensor(o.output));
    return Add(std::move(part), std::move(operation));
  }

  absl::Status Reshape(const GraphOperation& o) {
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, Tensor(o.inputs[0]));
    operation.Set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, Tensor(o.output));
    return Add(BackendDescriptor(), std::move(operation));
  }

  absl::Status Convolution(const GraphOperation& o) {
    std::vector<int64_t> before, after, strides, dilations;
    for (const GraphAxis& axis : o.axes) {
      before.push_back(axis.pad_begin);
      after.push_back(axis.pad_end);
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
    }
    BackendDescriptor part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    part.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, o.compute);
    part.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
             CUDNN_CROSS_CORRELATION);
    part.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
             static_cast<int64_t>(o.axes.size()));
    const auto set = [&](cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
      part.Set(name, CUDNN_TYPE_INT64, absl::Span<const int64_t>(values));
    };
    set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before);
    set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after);
    set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
    set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
    ONWARD_RETURN_IF_ERROR(part.Finalize());
    const ConvolutionNames& names = NamesOf(o.kind);
    BackendDescriptor operation(names.type);
    operation.Set(names.part, part);
    for (size_t i = 0; i < 2; ++i) operation.Set(names.inputs[i], Tensor(o.inputs[i]));
    operation.Set(names.output, Tensor(o.output));
    // cuDNN reads their bytes as of the type that it computes in, whatever type is named here.
    if (o.compute == CUDNN_DATA_DOUBLE) {
      operation.Set(names.alpha, CUDNN_TYPE_DOUBLE, 1.0);
      operation.Set(names.beta, CUDNN_TYPE_DOUBLE, 0.0);
    } else {
      operation.Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f);
      operation.Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
    }
    return Add(std::move(part), std::move(operation));
  }

  const CudnnGraph& graph_;
  GraphDescriptors result_;
};

}  // namespace

absl::StatusOr<GraphDescriptors> DescribeGraph(const CudnnGraph& graph) {
  return Describer(graph).Run();
}

}  // namespace onward::kernels::cuda
