// Packed element types (4 and 2 bits) in kernels that move elements of whole bytes.
#pragma once

#include <memory>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Wraps `inner` so that it sees every packed tensor with one byte per element, under its own
// dtype: inputs are unpacked before its Run and outputs packed after it. Outputs must not be
// aliases.
absl::StatusOr<std::unique_ptr<Kernel>> WithUnpackedElements(
    absl::StatusOr<std::unique_ptr<Kernel>> inner);

// The same when input 0 or output 0 of the node is packed, `inner` itself otherwise.
inline absl::StatusOr<std::unique_ptr<Kernel>> UnpackedWhereNeeded(
    const NodeSpec& spec, absl::StatusOr<std::unique_ptr<Kernel>> inner) {
  const bool packed = IsSubByte(spec.input_dtype(0)) || IsSubByte(spec.output_dtype(0));
  return packed ? WithUnpackedElements(std::move(inner)) : std::move(inner);
}

}  // namespace onward::kernels::cpu
