// Tensors whose dtype, shape and elements a fuzzer's bytes decide.
#pragma once

#include "onward/tensor.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace onward::fuzz {

// Mostly the dtypes that models use, sometimes any.
DType RandomDType(FuzzBytes& bytes);
// Rank up to 5, small dims, 0 among them.
Dims RandomDims(FuzzBytes& bytes);
// Overwrites `count` elements of numbers or strings, drawn over the whole tensor.
void ChangeElements(FuzzBytes& bytes, int64_t count, Tensor& tensor);
Tensor RandomTensor(FuzzBytes& bytes, DType dtype, DimsView dims);

}  // namespace onward::fuzz
