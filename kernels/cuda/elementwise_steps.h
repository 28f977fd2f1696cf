// One step of a fused elementwise group as an expression of CUDA C++.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/fused/elementwise_steps.h"
#include "onward/dtype.h"

namespace onward::kernels::cuda {

// A value as its name in the source and the dtype of its elements. Omitted: no name.
struct ElementwiseValue {
  std::string name;
  DType dtype = DType::kUndefined;
};

// The C++ type of elements, and the one that they are computed in: "Float16", "float".
std::string ElementTypeOf(DType dtype);
std::string ComputeTypeOf(DType dtype);

// The expression and the dtype of its result. Unimplemented: no functor computes the op.
absl::StatusOr<ElementwiseValue> WriteElementwiseStep(
    const fused::ElementwiseStep& step, const std::vector<ElementwiseValue>& operands);

}  // namespace onward::kernels::cuda
