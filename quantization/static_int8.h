// Products of 8-bit integers: weights by their channels, activations by ranges that were measured.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "quantization/observe.h"

namespace onward::quantization {

struct Int8Report {
  int products = 0;  // that read integers
  int left = 0;      // that the samples did not reach
};

// The names of the values whose ranges QuantizeToInt8 wants.
std::set<std::string> ValuesOfInt8(const Graph& graph);

// Conv, MatMul and Gemm of constant weights read DequantizeLinear of integers (QDQ, opset 13):
// weights int8, symmetric, a scale for each output channel; activations uint8 with the scale and
// zero point of their range; biases int32. Results of Conv become uint8, too, behind their Relu or
// Clip, which goes where the range says it all. The model's outputs stay as they are.
// InvalidArgument: nothing to quantize, or a model that is quantized already.
absl::StatusOr<Int8Report> QuantizeToInt8(Model& model,
                                          const std::map<std::string, ValueRange>& ranges);

}  // namespace onward::quantization
