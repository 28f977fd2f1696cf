// Copies a box of elements between two strided layouts: the engine of Transpose, Slice, Expand,
// Tile, Pad and their kin.
#pragma once

#include <cstdint>

#include "kernels/bind/strided_view.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// A prepared copy. Trivially destructible: part of a binding's state. Strides are in bytes.
struct StridedCopy {
  using Inner = void (*)(const char* from, char* to, const StridedCopy& copy, int64_t rows);

  Inner inner = nullptr;
  int64_t outer_rank = 0;
  const int64_t* outer_dims = nullptr;  // outer_rank each
  const int64_t* outer_from = nullptr;
  const int64_t* outer_to = nullptr;
  int64_t rows = 0, row_from = 0, row_to = 0;  // the two inner axes
  int64_t columns = 0, column_from = 0, column_to = 0;
  int64_t tile = 1;   // rows of one unit of parallel work
  int64_t units = 0;  // tiles over all outer positions; 0: nothing to copy
  int64_t grain = 1;  // units of one chunk
  bool flat = false;  // one contiguous run on both sides
};

// Prepares copying `dims` elements of `dtype` (packed types: one byte each), whose strides in
// elements are `from` and `to`: any sign, 0 repeats the source. Axes should stand in the
// destination's order. The box must lie in both buffers; destination elements must be distinct.
StridedCopy PlanStridedCopy(BindContext& context, DType dtype, DimsView dims, DimsView from,
                            DimsView to);

// Prepares the first output as the view of the first input, in a StridedCopy that is the binding's
// state; an output that is the input's elements in their order shares its memory.
void BindStridedCopy(BindContext& context, const StridedView& view);

// `from` and `to` are the addresses of the box's first element.
void RunStridedCopy(const RunContext& context, const StridedCopy& copy, const void* from, void* to);
// Makes the copy that BindStridedCopy has prepared.
absl::Status RunBoundCopy(const RunContext& context);

}  // namespace onward::kernels::cpu
