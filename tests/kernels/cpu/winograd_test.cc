// The transforms of Winograd's convolutions read no denormal that they were not given: some
// processors take a hundred times as long for each.
#include "kernels/cpu/simd/winograd.h"

#include "kernels/cpu/winograd_plan.h"

#if defined(__x86_64__)
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace onward::kernels::cpu {
namespace {

constexpr uint32_t kDenormal = 1;  // the bits of the smallest one

// Fills the stack that the next call will use.
__attribute__((noinline)) void FillStackWithDenormals() {
  volatile uint32_t words[8192];
  for (volatile uint32_t& word : words) word = kDenormal;
}

constexpr unsigned kDenormalSeen = 2;  // of MXCSR

// Whether `work` gave the processor a denormal to compute with.
template <typename Work>
bool ComputesWithDenormals(const Work& work) {
  _mm_setcsr(_mm_getcsr() & ~kDenormalSeen);
  FillStackWithDenormals();
  work();
  return (_mm_getcsr() & kDenormalSeen) != 0;
}

template <typename Test>
void ForEachKernels(const Test& test) {
  for (int i = 0; i < kNumTargets; ++i) {
    const Target target = static_cast<Target>(i);
    if ((AllowedTargets() & kVectorTargets & MaskOf(target)) == 0) continue;
    for (const int64_t m : {2, 4}) {
      SCOPED_TRACE(std::string(RowOf(target).name) + " m " + std::to_string(m));
      test(m, (m == 2 ? kWinograd2PerTarget : kWinograd4PerTarget).For(target)());
    }
  }
}

TEST(Winograd, WindowsBesideTheLastTileAreZero) {
  ForEachKernels([](int64_t m, const WinogradKernels& kernels) {
    for (const int tiles : {1, 4, 7, 16, 19}) {
      const int64_t width = tiles * m;
      const std::vector<float> x(static_cast<size_t>(width * width), 1.0f);
      WinogradWindows w;
      w.x = x.data();
      w.in_h = w.in_w = width;
      w.top = w.left = -1;
      w.tiles = tiles;
      w.step = kMaxWinogradTiles;
      std::vector<float> v(static_cast<size_t>((m + 2) * (m + 2) * w.step));
      w.v = v.data();
      EXPECT_FALSE(ComputesWithDenormals([&] { kernels.transform_windows(w); })) << tiles;
    }
  });
}

TEST(Winograd, ProductsBesideTheLastTileAreNotRead) {
  ForEachKernels([](int64_t m, const WinogradKernels& kernels) {
    for (const int tiles : {1, 4, 7, 16, 19}) {
      WinogradTiles t;
      t.step = kMaxWinogradTiles;
      t.tiles = tiles;
      t.tiles_w = tiles;
      t.out_h = m;
      t.out_w = tiles * m;
      std::vector<float> products(static_cast<size_t>((m + 2) * (m + 2) * t.step),
                                  std::bit_cast<float>(kDenormal));
      for (int64_t f = 0; f < (m + 2) * (m + 2); ++f)
        std::fill_n(products.begin() + f * t.step, tiles, 1.0f);
      t.products = products.data();
      std::vector<float> y(static_cast<size_t>(m * t.out_w));
      t.y = y.data();
      EXPECT_FALSE(ComputesWithDenormals([&] { kernels.store_tiles(t); })) << tiles;
    }
  });
}

// Filters of a run are transformed to its scratch.
TEST(Winograd, FiltersOfARunTakeLittleMemory) {
  EXPECT_EQ(ChooseWinograd(16, {512, 512, 56, 56, /*constant_filters=*/false}), 4);
  EXPECT_EQ(ChooseWinograd(16, {1024, 1024, 56, 56, /*constant_filters=*/false}), 2);
  EXPECT_EQ(ChooseWinograd(16, {2048, 2048, 56, 56, /*constant_filters=*/false}), 0);
  EXPECT_EQ(ChooseWinograd(16, {2048, 2048, 0, 0, /*constant_filters=*/false}), 0);
  EXPECT_EQ(ChooseWinograd(16, {2048, 2048, 56, 56, /*constant_filters=*/true}), 4);
}

}  // namespace
}  // namespace onward::kernels::cpu
#endif
