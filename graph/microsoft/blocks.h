// Weights of 2, 4 or 8 bits with one scale per block.
#pragma once

#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {

// uint8 of packed codes, the first in the lowest bits: the last axis grows by 8 / bits.
Expr UnpackCodes(const Expr& packed, int64_t bits);

// (codes - zero) * scale in float32 for codes [..., blocks * block_size], scales and zero points
// [..., blocks]; zero: `default_zero` when omitted.
Expr DequantizeBlocks(const Expr& codes, const Expr& scales, const Expr& zeros, double default_zero,
                      int64_t block_size);

// x in float32.
Expr Wide(const Expr& x);
// x in the dtype `to`, no node where it has that already.
Expr As(const Expr& x, DType to);

}  // namespace onward::microsoft
