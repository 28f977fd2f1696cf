// Convolutions whose sizes are known only when they are bound, against sums in double. Each way to
// compute them is taken.
#include <gtest/gtest.h>

#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/gemm.h"
#include "tests/kernels/cpu/conv_case.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectSizedKernels;

constexpr uint64_t kConstantFilters = 2;
constexpr Window kSame = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};

TEST(SizedConv, RandomWindowsGroupsAndSizes) {
  int ran = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Window window = RandomWindow(random);
    ran +=
        ExpectSizedKernels(ConvCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 4),
                                    Draw(random, 1, 9), Draw(random, 1, 40), Draw(random, 9, 24),
                                    Draw(random, 9, 40), window, Draw(random, 0, 1) != 0, random),
                           kConstantFilters);
  }
  EXPECT_GE(ran, 100);
}

// One pixel, where lanes are channels; images for Winograd's tiles of both sizes.
TEST(SizedConv, SquareImagesOfManyChannels) {
  std::mt19937 random(1);
  for (const int64_t size : {1, 2, 7, 14, 20, 40}) {
    OpCase c = ConvCase(1, 1, 40, 64, size, size, kSame, true, random);
    c.atol = 5e-5;
    EXPECT_GE(ExpectSizedKernels(c, kConstantFilters), 1) << c.name;
  }
}

TEST(SizedConv, LargeImagesOfFewFilters) {
  std::mt19937 random(4);
  const Window halve = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  for (const int64_t filters : {16, 24, 64}) {
    const OpCase c = ConvCase(2, 1, 3, filters, 50, 41, halve, true, random);
    EXPECT_GE(ExpectSizedKernels(c, kConstantFilters), 1) << c.name;
  }
}

TEST(SizedConv, DilatedTapsInPhases) {
  std::mt19937 random(5);
  const Window window = {{3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}};
  OpCase c = ConvCase(2, 1, 24, 40, 31, 50, window, true, random);
  c.atol = 5e-5;
  EXPECT_GE(ExpectSizedKernels(c, kConstantFilters), 1) << c.name;
}

TEST(SizedConv, TapsThatMeetPadding) {
  std::mt19937 random(2);
  for (const int64_t dilation : {3, 6, 12, 36}) {
    const Window window = {
        {3, 3}, {1, 1}, {dilation, dilation}, {dilation, dilation}, {dilation, dilation}};
    const OpCase c = ConvCase(2, 1, 24, 70, 14, 14, window, true, random);
    EXPECT_GE(ExpectSizedKernels(c, kConstantFilters), 1) << c.name;
  }
}

TEST(SizedConv, FiltersAreUnpackedAsTheyWerePacked) {
  std::mt19937 random(3);
  for (int i = 0; i < cpu::kNumTargets; ++i) {
    const auto target = static_cast<cpu::Target>(i);
    if ((cpu::AllowedTargets() & cpu::kVectorTargets & cpu::MaskOf(target)) == 0) continue;
    const cpu::GemmTileKernels& tiles = cpu::kGemmTilesPerTarget.For(target)();
    for (const int64_t filters : {1, 12, 13, 32, 70}) {
      const Tensor w = testing::RandomFloats({3 * filters, 5, 3, 2}, random);
      for (const cpu::ConvForm form : {cpu::ConvForm::kPixelLanes, cpu::ConvForm::kChannelLanes}) {
        const auto packed = cpu::PackFloatFilters(tiles, form, w, 3);
        ASSERT_TRUE(packed.ok());
        const auto unpacked = cpu::UnpackFloatFilters(tiles, form, *packed, w.dims(), 3);
        ASSERT_TRUE(unpacked.ok());
        EXPECT_EQ(testing::Difference(*unpacked, w, 0, 0), "") << cpu::RowOf(target).name;
      }
    }
  }
}

}  // namespace
}  // namespace onward::kernels
