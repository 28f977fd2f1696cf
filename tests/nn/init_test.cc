// Initial values have the moments, bounds and structure that PyTorch's formulas give them.
#include "onward/nn/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace onward::nn {
namespace {

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments Of(const Init& init, DimsView dims) {
  const Tensor tensor = Draw(init, DType::kFloat64, dims, 3, "layer.weight");
  const auto values = tensor.span<double>();
  Moments m;
  for (const double each : values) m.mean += each;
  m.mean /= static_cast<double>(values.size());
  for (const double each : values) m.deviation += (each - m.mean) * (each - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  m.least = *std::min_element(values.begin(), values.end());
  m.most = *std::max_element(values.begin(), values.end());
  return m;
}

// Uniform in [-bound, bound], of very many numbers.
void ExpectUniform(const Init& init, DimsView dims, double bound) {
  const Moments m = Of(init, dims);
  EXPECT_NEAR(m.mean, 0, bound * 0.01) << init.description;
  EXPECT_NEAR(m.deviation, bound / std::sqrt(3.0), bound * 0.01) << init.description;
  EXPECT_GE(m.least, -bound) << init.description;
  EXPECT_LE(m.most, bound) << init.description;
  EXPECT_GE(m.most, bound * 0.999) << init.description;
}

void ExpectNormal(const Init& init, DimsView dims, double mean, double deviation) {
  const Moments m = Of(init, dims);
  EXPECT_NEAR(m.mean, mean, deviation * 0.02) << init.description;
  EXPECT_NEAR(m.deviation, deviation, deviation * 0.02) << init.description;
  EXPECT_GT(m.most, mean + 3.5 * deviation) << init.description;
  EXPECT_LT(m.most, mean + 6 * deviation) << init.description;
}

constexpr int64_t kMatrix[] = {250, 300};       // fan_in 300, fan_out 250
constexpr int64_t kFilters[] = {60, 40, 5, 6};  // fan_in 1200, fan_out 1800

TEST(Init, Formulas) {
  ExpectUniform(init::Uniform(-0.3, 0.3), kMatrix, 0.3);
  ExpectNormal(init::Normal(2, 0.5), kMatrix, 2, 0.5);
  ExpectUniform(init::XavierUniform(), kMatrix, std::sqrt(6.0 / 550));
  ExpectUniform(init::XavierUniform(2), kFilters, 2 * std::sqrt(6.0 / 3000));
  ExpectNormal(init::XavierNormal(), kFilters, 0, std::sqrt(2.0 / 3000));
  ExpectUniform(init::KaimingUniform(std::sqrt(5.0)), kFilters, 1 / std::sqrt(1200.0));
  ExpectUniform(init::KaimingUniform(0, init::Fan::kOut, "tanh"), kMatrix,
                5.0 / 3 * std::sqrt(3.0 / 250));
  ExpectNormal(init::KaimingNormal(0, init::Fan::kOut, "relu"), kFilters, 0, std::sqrt(2.0 / 1800));
  ExpectNormal(init::KaimingNormal(1), kMatrix, 0, std::sqrt(1.0 / 300));
}

// The moments of the normal distribution cut at one deviation below and two above.
TEST(Init, TruncatedNormal) {
  const Moments m = Of(init::TruncatedNormal(1, 0.5, 0.5, 2), kMatrix);
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  const auto share = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const double z = share(2) - share(-1), shift = (density(-1) - density(2)) / z;
  const double variance = 1 + (-density(-1) - 2 * density(2)) / z - shift * shift;
  EXPECT_NEAR(m.mean, 1 + 0.5 * shift, 0.005);
  EXPECT_NEAR(m.deviation, 0.5 * std::sqrt(variance), 0.005);
  EXPECT_GE(m.least, 0.5);
  EXPECT_LE(m.most, 2);
  EXPECT_LT(m.least, 0.501);
}

TEST(Init, OrthogonalRowsOrColumns) {
  for (const Dims& dims : {Dims{5, 8}, Dims{8, 5}, Dims{6, 2, 2}}) {
    const Tensor tensor = Draw(init::Orthogonal(2), DType::kFloat64, dims, 1, "w");
    const int64_t rows = dims[0], columns = tensor.num_elements() / rows;
    const double* w = tensor.data<double>();
    const bool wide = rows <= columns;
    const int64_t few = std::min(rows, columns), many = std::max(rows, columns);
    for (int64_t i = 0; i < few; ++i) {
      for (int64_t j = 0; j < few; ++j) {
        double product = 0;
        for (int64_t k = 0; k < many; ++k)
          product += wide ? w[i * columns + k] * w[j * columns + k]
                          : w[k * columns + i] * w[k * columns + j];
        EXPECT_NEAR(product, i == j ? 4 : 0, 1e-12);
      }
    }
  }
}

TEST(Init, ConstantsAndZeroRows) {
  EXPECT_EQ(Of(init::Constant(0.25), kMatrix).least, 0.25);
  const Tensor rows =
      Draw(init::WithZeroRow(init::Normal(), 1), DType::kFloat32, Dims{3, 4}, 0, "w");
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(rows.data<float>()[i] == 0, i / 4 == 1);
}

TEST(Init, DependsOnSeedAndNameAlone) {
  const auto draw = [](uint64_t seed, const char* name) {
    return Draw(init::Normal(), DType::kFloat32, Dims{7}, seed, name);
  };
  EXPECT_TRUE(SameBits(draw(1, "a"), draw(1, "a")));
  EXPECT_FALSE(SameBits(draw(1, "a"), draw(1, "b")));
  EXPECT_FALSE(SameBits(draw(1, "a"), draw(2, "a")));
  EXPECT_FALSE(SameBits(draw(1, "a"), draw(uint64_t{1} << 32 | 1, "a")));
}

TEST(Init, Gains) {
  EXPECT_EQ(init::Gain("linear"), 1);
  EXPECT_EQ(init::Gain("tanh"), 5.0 / 3);
  EXPECT_EQ(init::Gain("relu"), std::sqrt(2.0));
  EXPECT_EQ(init::Gain("leaky_relu", 0.2), std::sqrt(2 / 1.04));
  EXPECT_EQ(init::Gain("selu"), 0.75);
  EXPECT_TRUE(std::isnan(init::Gain("relo")));
}

}  // namespace
}  // namespace onward::nn
