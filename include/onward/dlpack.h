// Tensors that libraries of one process share without a copy, by DLPack's structures
// (dlpack/dlpack.h): PyTorch, CuPy, JAX, TVM.
//
//   ONWARD_ASSIGN_OR_RETURN(DLManagedTensor* const shared, onward::ToDLPack(output));
//   at::Tensor tensor = at::fromDLPack(shared);  // which calls its deleter in the end
#pragma once

#include "absl/status/statusor.h"
#include "onward/tensor.h"

struct DLManagedTensor;

namespace onward {

// The tensor's own memory, on the host or on a device, in rows without gaps; whoever takes it calls
// its deleter, once. What it writes there, all copies of the tensor see. Unimplemented: strings,
// 4-bit and 8-bit floats and integers of less than 8 bits. Thread-safe.
absl::StatusOr<DLManagedTensor*> ToDLPack(const Tensor& tensor);

// A tensor of that memory, which it frees by the deleter with its last copy; what is to be written
// there must have been. Memory of the host that has gaps or is not aligned to kTensorAlignment is
// copied, and freed at once. On an error the caller keeps `shared`. Unimplemented: another element
// type, several lanes, a device that is neither the host nor a CUDA device, gaps on a device.
// InvalidArgument: dims or a pointer that cannot be. Thread-safe.
absl::StatusOr<Tensor> FromDLPack(DLManagedTensor* shared);

}  // namespace onward
