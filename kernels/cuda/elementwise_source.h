// CUDA C++ of fused elementwise groups, from the functors that other kernels use.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

// Kernels of the source, by how they find elements; the argument of each is one
// ElementwiseArguments. Flat: inputs have the outputs' shape or one element. Packs: each pack lies
// within the innermost loop. Elements: any shapes. Wide: any shapes, with indices of 64 bits.
inline constexpr std::string_view kElementwiseKernels[] = {"flat", "packs", "elements", "wide"};

struct ElementwiseSource {
  std::string text;
  std::string name;  // of its kernels, before "_flat"
  int pack = 1;      // elements
};

// Unimplemented: an op that no functor computes, or outputs of several shapes. InvalidArgument: the
// node's steps are wrong.
absl::StatusOr<ElementwiseSource> WriteElementwiseSource(const NodeSpec& spec);

}  // namespace onward::kernels::cuda
