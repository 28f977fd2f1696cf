// RandomUniform, RandomNormal and those like an input: what their attributes say.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The dtype attribute, or else `otherwise`; kUndefined for one that is none of ONNX's.
DType DTypeAttribute(const NodeSpec& spec, DType otherwise);

// Numbers from first to second, or with the mean `first` and the deviation `second`.
struct RandomFillAttributes {
  DType dtype = DType::kUndefined;
  bool like = false;           // the output has the input's shape, else:
  std::vector<int64_t> shape;  // of the output
  float first = 0, second = 1;

  DimsView OutputDims(const BindContext& context) const {
    return like ? context.input_dims(0) : DimsView(shape);
  }
};

// InvalidArgument for a negative dim.
absl::StatusOr<RandomFillAttributes> ParseRandomFill(const NodeSpec& spec, bool normal, bool like);

}  // namespace onward::kernels
