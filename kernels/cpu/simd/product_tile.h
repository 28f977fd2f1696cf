// The inner kernel of kernels/cpu/reference/tiled_product.h for floating-point sums, per
// instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

inline constexpr int64_t kTileRows = 32;
inline constexpr int64_t kTileColumns = 64;
inline constexpr int64_t kTileDepth = 128;

// c += a * b for the first `rows` x `columns` of a tile: a is row-major with rows kTileDepth apart,
// b and c with rows kTileColumns apart. Cells beyond, up to multiples of 8 rows and 32 columns,
// become anything. Every sum runs over `depth` in order.
template <typename T>
using ProductTile = void (*)(const T* a, const T* b, T* c, int64_t rows, int64_t columns,
                             int64_t depth);

struct ProductTiles {
  ProductTile<float> of_float;
  ProductTile<double> of_double;
};

ONWARD_PER_TARGET(kVectorLoops, const ProductTiles&, Products, ())

}  // namespace onward::kernels::cpu
