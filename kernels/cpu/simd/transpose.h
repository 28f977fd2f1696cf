// The transposition of a matrix of elements of one, two or four bytes: by squares of vectors, or
// by whole columns where those are short.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// Element (c, r) of `to` is element (r, c) of `from`. Strides are in bytes, between rows.
using TransposeLoop = void (*)(const char* from, int64_t from_stride, int64_t rows, int64_t columns,
                               char* to, int64_t to_stride);

// Transposes a contiguous matrix [columns, rows] of 2 or 3 rows, as the pixels of an image are.
using SplitLoop = void (*)(const char* from, int64_t columns, int64_t rows, char* to,
                           int64_t to_stride);

struct TransposeLoops {
  TransposeLoop of_two_bytes, of_four_bytes;
  SplitLoop split_one_byte, split_two_bytes, split_four_bytes;
};

ONWARD_PER_TARGET(kVectorLoops, const TransposeLoops&, Transposes, ())

}  // namespace onward::kernels::cpu
