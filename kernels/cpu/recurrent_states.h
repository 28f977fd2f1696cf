// The states of a recurrent kernel: rows [direction][sequence][padded], where sequences of unequal
// lengths stand by length, the longest first. Those that have not ended are then the first rows.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/bind/recurrent.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

struct RecurrentStates {
  RecurrentGeometry g;
  int64_t directions = 1;
  int64_t padded = 0;                  // floats of a row, at least the hidden ones
  const int32_t* lens = nullptr;       // [batch], by sequence; null: all have g.steps
  const int32_t* sequences = nullptr;  // [batch], by row; null: in the order of the batch

  bool has_lens() const { return lens != nullptr; }
  int64_t Sequence(int64_t row) const { return sequences == nullptr ? row : sequences[row]; }
  int64_t Length(int64_t row) const { return lens == nullptr ? g.steps : lens[Sequence(row)]; }
  // The rows of each direction before this one run at `step`.
  int64_t Active(int64_t step) const;

  // Puts the sequences in order by input 4, where there is one; `room` is for g.batch numbers.
  // InvalidArgument: a length is not one of 0 to g.steps.
  absl::Status Order(const RunContext& context, int32_t* room);

  // Fills all rows from an initial state, [directions, batch, hidden] or as `layout` says; zeros
  // where it is omitted.
  void Load(const RunContext& context, int input, float* rows) const;
  // Stores rows from `row` on of each direction to an output of the same shape, if there is one.
  void Store(const RunContext& context, int output, const float* rows, int64_t row) const;
  // Stores units [unit, unit + count) of one row, which begin at `from`.
  void StoreUnits(const RunContext& context, int output, int64_t direction, int64_t row,
                  int64_t unit, int64_t count, const float* from) const;
};

}  // namespace onward::kernels::cpu
