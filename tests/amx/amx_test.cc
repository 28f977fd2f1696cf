// The kernels' own tests run beside this one (CMakeLists.txt); here stands what is AMX's alone.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/simd/gemm_tile.h"
#include "kernels/cpu/simd/int8_tile.h"
#include "kernels/cpu/targets.h"
#include "tests/amx/tile_model.h"

namespace onward::kernels::cpu {
namespace {

class AmxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if ((AllowedTargets() & MaskOf(Target::kAmx)) == 0) GTEST_SKIP() << "no AVX512-BF16";
  }
};

TEST_F(AmxTest, IsChosenForBfloat16AndForBytes) {
  EXPECT_EQ(Widest(AllowedTargets() & kBf16Targets), Target::kAmx);
  EXPECT_EQ(Widest(AllowedTargets() & kInt8Targets), Target::kAmx);
  EXPECT_EQ(VectorTarget(), Target::kAvx512);
}

float RandomBf16(std::mt19937& random) {
  return static_cast<float>(static_cast<int>(random() % 255) - 127) / 16.0f;
}

// Words of two bfloat16 of `numbers` [lines][2 * words].
std::vector<float> Words(const std::vector<float>& numbers) {
  std::vector<float> words(numbers.size() / 2);
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t low, high;
    std::memcpy(&low, &numbers[2 * i], 4);
    std::memcpy(&high, &numbers[2 * i + 1], 4);
    const uint32_t word = low >> 16 | (high & 0xffff0000u);
    std::memcpy(&words[i], &word, 4);
  }
  return words;
}

// Sums of these numbers are exact in float32, so the order of additions does not matter.
TEST_F(AmxTest, TilesOfPairsOfAnySize) {
  const GemmTileKernels& tiles = kBf16TilesPerTarget.For(Target::kAmx)();
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const int rows = 1 + static_cast<int>(random() % 32),
              cols = 1 + static_cast<int>(random() % 32);
    const int words = static_cast<int>(random() % 40), b_k = cols + static_cast<int>(random() % 9);
    SCOPED_TRACE(testing::Message() << rows << " x " << cols << " x " << words);
    std::vector<float> a(static_cast<size_t>(rows * words * 2)),
        b(static_cast<size_t>(words * b_k * 2));
    for (float& x : a) x = RandomBf16(random);
    for (float& x : b) x = RandomBf16(random);
    const std::vector<float> a_words = Words(a), b_words = Words(b);
    std::vector<float> c(static_cast<size_t>(rows * 40), 7), bias(static_cast<size_t>(rows), 3);
    GemmTile tile;
    tile.rows = rows, tile.cols = cols, tile.k = words;
    tile.a = a_words.data();
    tile.a_row = words, tile.a_k = 1;
    tile.b = b_words.data(), tile.b_k = b_k;
    tile.c = c.data(), tile.c_row = 40;
    tile.bias_of_row = bias.data();
    tile.activation.kind = Activation::kRelu;
    tiles.tile(tile);
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < 40; ++j) {
        double sum = 3;
        for (int k = 0; k < 2 * words && j < cols; ++k) {
          sum += static_cast<double>(a[static_cast<size_t>(r * 2 * words + k)]) *
                 static_cast<double>(b[static_cast<size_t>((k / 2 * b_k + j) * 2 + k % 2)]);
        }
        const double expected = j >= cols ? 7 : sum > 0 ? sum : 0;
        ASSERT_EQ(static_cast<double>(c[static_cast<size_t>(r * 40 + j)]), expected)
            << r << ' ' << j;
      }
    }
  }
}

// Rows at equal and at unequal distances, runs of any length.
TEST_F(AmxTest, TilesOfBytesOfAnySize) {
  const Int8TileKernels& tiles = kInt8TilesPerTarget.For(Target::kAmx)();
  std::mt19937 random(2);
  const int64_t before = tile_model::Products();
  for (int trial = 0; trial < 300; ++trial) {
    const int rows = 1 + static_cast<int>(random() % 32), runs = 1 + static_cast<int>(random() % 4);
    const int units = static_cast<int>(random() % 40), bytes = 4 * units;
    const bool even = random() % 2 == 0;
    SCOPED_TRACE(testing::Message()
                 << rows << " rows, " << runs << " runs of " << units << ' ' << even);
    std::vector<uint8_t> a(static_cast<size_t>(rows * 3 * (bytes + 8) + runs * (bytes + 5)));
    std::vector<int8_t> b(static_cast<size_t>(runs * bytes * tiles.tile_cols));
    for (uint8_t& x : a) x = static_cast<uint8_t>(random());
    for (int8_t& x : b) x = static_cast<int8_t>(random());
    std::vector<const void*> lines(static_cast<size_t>(rows));
    for (int r = 0; r < rows; ++r)
      lines[static_cast<size_t>(r)] =
          a.data() + (even ? r * 7 : static_cast<int>(random() % 3) * r);
    std::vector<int64_t> offsets(static_cast<size_t>(runs));
    for (int run = 0; run < runs; ++run) offsets[static_cast<size_t>(run)] = run * (bytes + 5);
    std::vector<int32_t> sums(kMostInt8Sums, -1);
    tiles.tile({lines.data(), rows, offsets.data(), runs, units, b.data()}, sums.data());
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < tiles.tile_cols; ++j) {
        int32_t sum = 0;
        for (int run = 0; run < runs; ++run) {
          const uint8_t* x = static_cast<const uint8_t*>(lines[static_cast<size_t>(r)]) +
                             offsets[static_cast<size_t>(run)];
          for (int k = 0; k < bytes; ++k)
            sum +=
                x[k] *
                b[static_cast<size_t>(((run * units + k / 4) * tiles.tile_cols + j) * 4 + k % 4)];
        }
        ASSERT_EQ(sums[static_cast<size_t>(r * tiles.tile_cols + j)], sum) << r << ' ' << j;
      }
    }
  }
  EXPECT_GT(tile_model::Products(), before);
}

}  // namespace
}  // namespace onward::kernels::cpu
