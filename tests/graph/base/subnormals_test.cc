#include "graph/base/subnormals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace onward {
namespace {

using Limits = std::numeric_limits<float>;

TEST(Subnormals, NeitherZerosNorNormalsNorInfinitiesNorNaN) {
  const std::vector<float> values = {0,
                                     -0.0f,
                                     Limits::min(),
                                     -Limits::min(),
                                     Limits::max(),
                                     1,
                                     Limits::infinity(),
                                     -Limits::infinity(),
                                     Limits::quiet_NaN()};
  EXPECT_FALSE(HasSubnormals(values));
  std::vector<float> kept = values;
  SubnormalsToZero(absl::MakeSpan(kept));
  for (size_t i = 0; i + 1 < values.size(); ++i) EXPECT_EQ(kept[i], values[i]);
  EXPECT_TRUE(std::signbit(kept[1]));
  EXPECT_TRUE(std::isnan(kept.back()));
}

TEST(Subnormals, FromTheLeastToTheGreatestWhereverTheyStand) {
  const float greatest = std::nextafter(Limits::min(), 0.0f);
  for (const float subnormal : {Limits::denorm_min(), -Limits::denorm_min(), greatest, -greatest}) {
    for (const size_t place : {size_t{0}, size_t{4095}, size_t{4096}, size_t{9000}}) {
      std::vector<float> values(9001, 1.0f);
      values[place] = subnormal;
      EXPECT_TRUE(HasSubnormals(values)) << subnormal << " at " << place;
      SubnormalsToZero(absl::MakeSpan(values));
      EXPECT_EQ(values[place], 0.0f);
      EXPECT_EQ(std::signbit(values[place]), std::signbit(subnormal));
      EXPECT_FALSE(HasSubnormals(values));
    }
  }
  EXPECT_FALSE(HasSubnormals({}));
}

}  // namespace
}  // namespace onward
