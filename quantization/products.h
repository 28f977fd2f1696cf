// The products of a graph whose weights can be quantized.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::quantization {

// A Conv, MatMul or Gemm of the outermost graph whose weight is a constant of floats that nothing
// overrides.
struct WeightedProduct {
  NodeId node;
  ValueId data, weight, bias;  // bias: invalid where there is none
  int64_t output_axis = 0;     // of the weight, along which the product's channels lie
  int64_t input_axis = 0;      // of a matrix, along which it is summed
};

// In topological order. MatMul and Gemm: weights of rank 2, Gemm without transA.
std::vector<WeightedProduct> WeightedProducts(const Graph& graph);

// Returns whether the node makes, reads or multiplies quantized integers.
bool IsQuantized(const Node& node);

// InvalidArgument names the first node of a model that is quantized already.
absl::Status CheckNotQuantized(const Graph& graph);

// Prepares a model before weights are quantized: constants are computed, per-channel scales and
// shifts go into the weights before them. Errors as of CheckNotQuantized.
absl::Status PrepareProducts(Model& model);

// The elements of a constant of float32, float16 or bfloat16, and back.
std::vector<float> ToFloats(const Tensor& tensor);
Tensor FromFloats(absl::Span<const float> elements, DType dtype, DimsView dims);

}  // namespace onward::quantization
