// The tiles of the portable products, of every instruction set, against plain sums.
#include "kernels/cpu/simd/product_tile.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace onward::kernels::cpu {
namespace {

template <typename T>
void ExpectProducts(ProductTile<T> multiply, double tolerance) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int turn = 0; turn < 40; ++turn) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % kTileRows);
    const int64_t columns = 1 + static_cast<int64_t>(random() % kTileColumns);
    const int64_t depth = static_cast<int64_t>(random() % (kTileDepth + 1));
    std::vector<T> a(kTileRows * kTileDepth), b(kTileDepth * kTileColumns),
        c(kTileRows * kTileColumns);
    for (std::vector<T>* values : {&a, &b, &c}) {
      for (T& value : *values) value = static_cast<T>(uniform(random));
    }
    const std::vector<T> before = c;
    multiply(a.data(), b.data(), c.data(), rows, columns, depth);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = static_cast<double>(before[static_cast<size_t>(i * kTileColumns + j)]);
        for (int64_t p = 0; p < depth; ++p) {
          sum += static_cast<double>(a[static_cast<size_t>(i * kTileDepth + p)]) *
                 static_cast<double>(b[static_cast<size_t>(p * kTileColumns + j)]);
        }
        ASSERT_NEAR(static_cast<double>(c[static_cast<size_t>(i * kTileColumns + j)]), sum,
                    tolerance)
            << rows << " x " << columns << " x " << depth << " at " << i << ", " << j;
      }
    }
  }
}

TEST(ProductTile, EverySizeAndInstructionSet) {
  for (int i = 0; i < kNumTargets; ++i) {
    const Target target = static_cast<Target>(i);
    if ((AllowedTargets() & kVectorTargets & MaskOf(target)) == 0) continue;
    SCOPED_TRACE(RowOf(target).name);
    const ProductTiles& tiles = kProductsPerTarget.For(target)();
    ExpectProducts(tiles.of_float, 2e-5);
    ExpectProducts(tiles.of_double, 1e-13);
  }
}

}  // namespace
}  // namespace onward::kernels::cpu
