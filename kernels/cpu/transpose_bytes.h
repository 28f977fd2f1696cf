// The transposition of a matrix of bytes, by blocks of 16 x 16.
#pragma once

#include <cstdint>

namespace onward::kernels::cpu {

// to[c * to_stride + r] = from[r * from_stride + c] ^ flip.
void TransposeBytes(const uint8_t* from, int64_t from_stride, int64_t rows, int64_t columns,
                    uint8_t flip, uint8_t* to, int64_t to_stride);

}  // namespace onward::kernels::cpu
