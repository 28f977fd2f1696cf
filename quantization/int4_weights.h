// Matrices of 4-bit integers in blocks that have a scale each.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "quantization/input_products.h"

namespace onward::quantization {

struct Int4Options {
  int64_t block_size = 32;  // elements along the summed axis
  // By the names of the products' inputs: weights are rounded so that errors make up for each other
  // on such inputs (GPTQ, Frantar et al. 2022), those without an entry to the nearest.
  const std::map<std::string, InputProducts>* inputs = nullptr;
  int64_t least_elements = 1024;  // of a weight; smaller ones stay
};

// The names of the inputs of the products whose weights are quantized, by size.
std::map<std::string, int64_t> InputsOfInt4(const Graph& graph, const Int4Options& options);

struct Int4Report {
  int weights = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of those weights
};

// The constant weights of MatMul and Gemm become DequantizeLinear of int4 (opset 21): symmetric,
// one scale a block and column, the one of a few that leaves the least square error. Weights that
// several products share are stored once; one that other nodes read, too, stays beside it.
// InvalidArgument: nothing to quantize, or a model that is quantized already.
absl::StatusOr<Int4Report> QuantizeWeightsToInt4(Model& model, const Int4Options& options);

}  // namespace onward::quantization
