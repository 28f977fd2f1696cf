// A graph of cuDNN's operations, described: tensors, and what is computed of them. It is plain
// data, so that equal graphs share a plan (cudnn_plan.h), and that one is planned for a device that
// is not there.
#pragma once

#include <cudnn.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/dtype.h"
#include "onward/shape.h"

namespace onward::kernels::cuda {

// Returns cuDNN's name of a float type.
cudnnDataType_t CudnnType(DType dtype);
// Returns the type of sums: floats of 16 bits are summed in float32.
cudnnDataType_t CudnnSumType(DType dtype);

struct GraphTensor {
  enum class Place : uint8_t {
    kInside,  // of the graph: it needs no memory
    kMemory,  // the caller's
    kValue,   // one number that the graph holds
  };
  Place place = Place::kInside;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dims dims, strides;
  double value = 0;
};

// One spatial axis of a convolution.
struct GraphAxis {
  int64_t pad_begin = 0, pad_end = 0, stride = 1, dilation = 1;
};

struct GraphOperation {
  enum class Kind : uint8_t {
    kPointwise,
    kMatMul,
    kReduction,
    kReshape,            // names the elements of its input otherwise, and moves none
    kConvolution,        // of images and filters
    kConvolutionImages,  // the gradient of the images, of gradients and filters
    kConvolutionFilters  // the gradient of the filters, of gradients and images
  };
  Kind kind = Kind::kPointwise;
  int mode = 0;     // of pointwise operations and reductions
  int axis = -1;    // that GEN_INDEX counts along
  float lower = 0;  // of RELU_FWD
  float upper = 0;  // of RELU_FWD; 0: none
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  std::vector<int> inputs;
  int output = -1;
  std::vector<GraphAxis> axes;
};

// Tensors are named by their numbers. A new result lies inside of the graph, contiguous, until
// SetMemory.
class CudnnGraph {
 public:
  // Tensors in memory; CudnnPlan::Run takes their addresses in the order in which they were named.
  int AddMemory(cudnnDataType_t type, DimsView dims, DimsView strides);
  void SetMemory(int tensor, cudnnDataType_t type, DimsView strides);
  int AddValue(cudnnDataType_t type, double value, size_t rank);

  int AddPointwise(cudnnPointwiseMode_t mode, std::initializer_list<int> inputs,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT,
                   cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  // The positions of `like` along an axis.
  int AddIndex(int like, int axis);
  int AddRelu(int input, float lower, float upper);
  // `lengths` are tensors of how many rows, columns and products count in each batch; -1: all.
  int AddMatMul(int a, int b, std::initializer_list<int> lengths, DimsView result,
                cudnnDataType_t type = CUDNN_DATA_FLOAT);
  // Over the axes of which the result has fewer elements, each of as many neighbours.
  int AddReduction(cudnnReduceTensorOp_t mode, int input, DimsView result);
  // With the last two axes exchanged; the elements stay where they are.
  int AddTransposed(int input, cudnnDataType_t type);
  int AddConvolution(GraphOperation::Kind kind, std::initializer_list<int> inputs,
                     std::vector<GraphAxis> axes, cudnnDataType_t compute, DimsView result);

  const std::vector<GraphTensor>& tensors() const { return tensors_; }
  const std::vector<GraphOperation>& operations() const { return operations_; }
  const std::vector<int>& memory() const { return memory_; }
  // Equal texts are equal graphs.
  std::string Text() const;

 private:
  int AddResult(GraphOperation operation, cudnnDataType_t type, DimsView dims);

  std::vector<GraphTensor> tensors_;
  std::vector<GraphOperation> operations_;
  std::vector<int> memory_;
};

}  // namespace onward::kernels::cuda
