// Tensors as bytes (Open Inference Protocol v2, extension binary_tensor_data): little-endian,
// row-major, without padding; BOOL is a byte of 0 or 1, an element of BYTES is its length in 4
// bytes and then its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::serving {

// The tensor of these bytes, which are copied; where they begin like a cache line and `owner` keeps
// them alive, it is on them. InvalidArgument says what was expected and what was
// got: another size than dtype and dims ask for, lengths that do not fit, a BOOL that is neither 0
// nor 1. Takes no more memory than in proportion to the bytes.
absl::StatusOr<Tensor> ReadBinaryTensor(DType dtype, DimsView dims, std::string_view bytes,
                                        const std::shared_ptr<const void>& owner = nullptr);

// The elements of a BYTES tensor, each after its length. FailedPrecondition: one of 4 GiB or more.
absl::StatusOr<std::string> LengthPrefixed(const Tensor& tensor);

}  // namespace onward::serving
