// The loops of a reduction over axes, worked out once per shape: axes of size 1 are dropped and
// neighbours of the same kind merged.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

inline constexpr int kMaxReduceDims = 8;

// Kept and reduced loops with their strides in the input (elements); index 0 is the innermost. The
// output is contiguous over the kept loops.
struct ReducePlan {
  int kept_rank = 0, reduced_rank = 0;
  int64_t kept_dims[kMaxReduceDims], kept_strides[kMaxReduceDims];
  int64_t reduced_dims[kMaxReduceDims], reduced_strides[kMaxReduceDims];
  int64_t kept_count = 1, reduced_count = 1;
  bool keeps_elements = false;  // the output has the input's elements, maybe in its memory

  bool innermost_is_reduced() const { return reduced_rank > 0 && reduced_strides[0] == 1; }
};

// Builds the plan for the axes with their bit set in `reduced` (dims.size() <= 64).
absl::Status BuildReducePlan(DimsView dims, uint64_t reduced, ReducePlan* plan);

// Where in a loop nest's memory iteration `index` is.
inline int64_t LoopOffset(int rank, const int64_t* dims, const int64_t* strides, int64_t index) {
  int64_t offset = 0;
  for (int d = 0; d < rank && index != 0; ++d) {
    const int64_t next = index / dims[d];
    offset += (index - next * dims[d]) * strides[d];
    index = next;
  }
  return offset;
}

// The attributes of a Reduce op.
struct ReduceAttributes {
  explicit ReduceAttributes(const NodeSpec& spec)
      : keep_dims(spec.attributes().Int("keepdims", 1) != 0),
        noop(spec.attributes().Int("noop_with_empty_axes", 0) != 0) {}
  bool keep_dims;
  bool noop;  // no axes mean none rather than all
};

// Binds a Reduce op: sets output 0 and the state, a ReducePlan; or defers while the axes, its
// input 1, are not known. `keeps_one`: the reduction of one element is that element.
absl::Status BindReduce(BindContext& context, const ReduceAttributes& attributes, bool keeps_one);

}  // namespace onward::kernels
