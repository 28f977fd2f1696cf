// The packed operands of products of 8-bit integers; see simd/int8_tile.h.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

// Returns whether packed elements are shifted by 128: unsigned bytes where the tile reads signed
// ones, or the reverse. Zero points shift with them.
inline bool IsShifted(const Int8TileKernels& tiles, DType dtype, bool reads_unsigned) {
  return tiles.element_bytes == 1 && (dtype == DType::kUint8) != reads_unsigned;
}
// Returns the number that is added to a zero point of a shifted operand.
inline int32_t ZeroShift(DType dtype, bool shifted) {
  return !shifted ? 0 : dtype == DType::kUint8 ? -128 : 128;
}

// The number that a byte stands for.
inline int16_t ByteNumber(uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<int16_t>(static_cast<int8_t>(byte)) : static_cast<int16_t>(byte);
}

// One operand's bytes as they lie in memory.
struct ByteSource {
  const uint8_t* data = nullptr;
  bool is_signed = false;
  bool shifted = false;
};

inline int64_t UnitsOf(const Int8TileKernels& tiles, int64_t k) {
  return (k + tiles.unit - 1) / tiles.unit;
}
// Bytes of one packed row, of one packed panel.
inline int64_t PackedRowBytes(const Int8TileKernels& tiles, int64_t k) {
  return UnitsOf(tiles, k) * tiles.unit * tiles.element_bytes;
}
inline int64_t PackedPanelBytes(const Int8TileKernels& tiles, int64_t k) {
  return PackedRowBytes(tiles, k) * tiles.tile_cols;
}

// Packs `rows` rows of k elements, `stride` apart, and their sums as packed.
void PackByteRows(const Int8TileKernels& tiles, const ByteSource& source, int64_t stride,
                  int64_t rows, int64_t k, void* to, int32_t* sums);
// Packs a panel of `cols` <= tile_cols columns of k rows, `stride` apart, zero beyond, and their
// tile_cols sums.
void PackBytePanel(const Int8TileKernels& tiles, const ByteSource& source, int64_t stride,
                   int64_t cols, int64_t k, void* to, int32_t* sums);

}  // namespace onward::kernels::cpu
