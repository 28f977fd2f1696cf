// Products of a row with vectors, of every instruction set, against plain sums.
#include "kernels/cpu/simd/row_dots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace onward::kernels::cpu {
namespace {

class RowDotsTest : public ::testing::Test {
 protected:
  // Arrays end where the numbers do, so that a sanitizer sees what is read beyond them.
  void Expect(const RowDots& dots, int64_t rows, int64_t vectors, int64_t count) {
    std::vector<double> x(static_cast<size_t>(rows * count));
    std::vector<double> all(static_cast<size_t>(vectors * count));
    for (double& value : x) value = static_cast<double>(static_cast<float>(uniform_(random_)));
    for (double& value : all) value = uniform_(random_);
    const std::vector<float> floats(x.begin(), x.end());
    std::vector<double> sums[3];
    for (std::vector<double>& of : sums) of.resize(static_cast<size_t>(rows * vectors));
    dots.of_floats(floats.data(), rows, all.data(), vectors, count, sums[0].data());
    dots.of_doubles(x.data(), rows, all.data(), vectors, count, sums[1].data());
    dots.distances(x.data(), rows, all.data(), vectors, count, sums[2].data());
    for (int64_t at = 0; at < rows * vectors; ++at) {
      double product = 0, distance = 0;
      for (int64_t i = 0; i < count; ++i) {
        const double a = x[static_cast<size_t>(at / vectors * count + i)];
        const double b = all[static_cast<size_t>(at % vectors * count + i)];
        product += a * b;
        distance += (a - b) * (a - b);
      }
      const double tolerance = 1e-15 * static_cast<double>(count + 1);
      EXPECT_NEAR(sums[0][static_cast<size_t>(at)], product, tolerance);
      EXPECT_NEAR(sums[1][static_cast<size_t>(at)], product, tolerance);
      EXPECT_NEAR(sums[2][static_cast<size_t>(at)], distance, 4 * tolerance);
    }
  }

  std::mt19937 random_{3};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

TEST_F(RowDotsTest, EverySizeAndInstructionSet) {
  for (int i = 0; i < kNumTargets; ++i) {
    const Target target = static_cast<Target>(i);
    if ((AllowedTargets() & kVectorTargets & MaskOf(target)) == 0) continue;
    const RowDots& dots = kDotsOfRowsPerTarget.For(target)();
    for (const int64_t vectors : {0, 1, 2, 3, 4, 5, 8, 11}) {
      for (const int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 100}) {
        for (const int64_t rows : {1, 2, 5}) {
          SCOPED_TRACE(testing::Message()
                       << RowOf(target).name << " " << rows << " x " << vectors << " x " << count);
          Expect(dots, rows, vectors, count);
        }
      }
    }
  }
}

TEST_F(RowDotsTest, NanAndInfinityStayInTheirSums) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < kNumTargets; ++i) {
    const Target target = static_cast<Target>(i);
    if ((AllowedTargets() & kVectorTargets & MaskOf(target)) == 0) continue;
    const RowDots& dots = kDotsOfRowsPerTarget.For(target)();
    std::vector<float> x(19, 1.0f);
    std::vector<double> vectors(2 * x.size(), 1.0);
    x[18] = infinity;
    vectors[18] = 0;
    double sums[2];
    dots.of_floats(x.data(), 1, vectors.data(), 2, 19, sums);
    EXPECT_TRUE(std::isnan(sums[0])) << RowOf(target).name;
    EXPECT_EQ(sums[1], static_cast<double>(infinity)) << RowOf(target).name;
  }
}

}  // namespace
}  // namespace onward::kernels::cpu
