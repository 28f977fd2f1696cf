#include "kernels/philox.h"

#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "tests/support/kernel_runner.h"

namespace onward::kernels {
namespace {

RandomStream Stream(uint32_t key0, uint32_t key1, uint32_t c2, uint32_t c3) {
  return {uint64_t{key1} << 32 | key0, c2, c3};
}

// The values that the authors publish with Random123.
TEST(Philox, GivesTheKnownAnswers) {
  const RandomBlock zero = Philox(Stream(0, 0, 0, 0), 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const RandomBlock digits =
      Philox(Stream(0xa4093822u, 0x299f31d0u, 0x13198a2eu, 0x03707344u), 0x85a308d3243f6a88u);
  EXPECT_EQ(digits.word[0], 0xd16cfe09u);
  EXPECT_EQ(digits.word[1], 0x94fdccebu);
  EXPECT_EQ(digits.word[2], 0x5001e420u);
  EXPECT_EQ(digits.word[3], 0x24126ea1u);
}

Tensor RunFirst(const cases::OpCase& c, int threads, uint64_t seed) {
  KernelOptions options;
  options.seed = seed;
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op != c.op) continue;
    auto results = testing::RunKernel(entry, c, threads, 0, options);
    EXPECT_TRUE(results.ok()) << results.status();
    return (*results)[0];
  }
  ADD_FAILURE() << "no kernel for " << c.op;
  return Tensor();
}

struct Statistics {
  double mean = 0, variance = 0, low = 1e30, high = -1e30;
};

template <typename T>
Statistics Measure(const Tensor& tensor) {
  Statistics s;
  const double count = static_cast<double>(tensor.num_elements());
  for (const T& raw : tensor.span<T>()) {
    const double x = static_cast<double>(raw);
    s.mean += x / count;
    s.low = std::min(s.low, x);
    s.high = std::max(s.high, x);
  }
  for (const T& raw : tensor.span<T>()) {
    const double x = static_cast<double>(raw);
    s.variance += (x - s.mean) * (x - s.mean) / count;
  }
  return s;
}

cases::OpCase Fill(const char* op, DType dtype, Attributes attributes) {
  attributes.Set("shape", std::vector<int64_t>{100000});
  attributes.Set("dtype", static_cast<int64_t>(dtype));
  return {"fill", op, "", std::move(attributes), {}, {Tensor(dtype, {100000})}};
}

TEST(Random, UniformHasItsMomentsAndBounds) {
  const Attributes range = {{"low", -1.0f}, {"high", 3.0f}};
  const Statistics floats =
      Measure<float>(RunFirst(Fill("RandomUniform", DType::kFloat32, range), 1, 1));
  const Statistics doubles =
      Measure<double>(RunFirst(Fill("RandomUniform", DType::kFloat64, range), 1, 1));
  const Statistics halves =
      Measure<Float16>(RunFirst(Fill("RandomUniform", DType::kFloat16, range), 1, 1));
  for (const Statistics& s : {floats, doubles, halves}) {
    EXPECT_NEAR(s.mean, 1.0, 0.02);
    EXPECT_NEAR(s.variance, 16.0 / 12, 0.02);
    EXPECT_GE(s.low, -1.0);
    EXPECT_LT(s.high, 3.0);
  }
}

TEST(Random, NormalHasItsMoments) {
  const Attributes shape = {{"mean", 2.0f}, {"scale", 0.5f}};
  const Statistics s = Measure<float>(RunFirst(Fill("RandomNormal", DType::kFloat32, shape), 1, 1));
  EXPECT_NEAR(s.mean, 2.0, 0.01);
  EXPECT_NEAR(s.variance, 0.25, 0.01);
  EXPECT_GT(s.high, 3.5);
}

TEST(Random, DependsOnTheSeedAndNotOnThreads) {
  const cases::OpCase c = Fill("RandomNormal", DType::kFloat32, {});
  const Tensor one = RunFirst(c, 1, 7);
  EXPECT_TRUE(SameBits(one, RunFirst(c, 3, 7)));
  EXPECT_FALSE(SameBits(one, RunFirst(c, 1, 8)));
  const cases::OpCase seeded = Fill("RandomNormal", DType::kFloat32, {{"seed", 5.0f}});
  EXPECT_TRUE(SameBits(RunFirst(seeded, 1, 7), RunFirst(seeded, 1, 8)));
}

TEST(Random, BernoulliDrawsOnesWithTheirProbability) {
  Tensor p(DType::kFloat32, {100000});
  std::fill(p.mutable_data<float>(), p.mutable_data<float>() + 100000, 0.25f);
  const cases::OpCase c = {
      "p", "Bernoulli", "", {{"dtype", int64_t{9}}}, {p}, {Tensor(DType::kBool, {100000})}};
  EXPECT_NEAR(Measure<bool>(RunFirst(c, 2, 3)).mean, 0.25, 0.01);
}

TEST(Random, MultinomialDrawsClassesWithTheirWeights) {
  const cases::OpCase c = {
      "p",
      "Multinomial",
      "",
      {{"sample_size", int64_t{100000}}},
      {Tensor::Of<float>(
          {1, 3}, {std::log(1.0f), -std::numeric_limits<float>::infinity(), std::log(3.0f)})},
      {Tensor(DType::kInt32, {1, 100000})}};
  const Statistics s = Measure<int32_t>(RunFirst(c, 1, 3));
  EXPECT_NEAR(s.mean, 1.5, 0.02);  // 0 in a quarter of the draws, never 1
  EXPECT_NEAR(s.variance, 0.75, 0.02);
}

TEST(Random, DropoutKeepsTheMeanAndTellsItsMask) {
  Tensor x(DType::kFloat32, {100000});
  std::fill(x.mutable_data<float>(), x.mutable_data<float>() + 100000, 1.0f);
  const cases::OpCase c = {"train",
                           "Dropout",
                           "",
                           {},
                           {x, Tensor::Scalar<float>(0.75f), Tensor::Scalar<bool>(true)},
                           {Tensor(DType::kFloat32, {100000}), Tensor(DType::kBool, {100000})}};
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op != "Dropout") continue;
    const auto results = testing::RunKernel(entry, c, 2);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_NEAR(Measure<float>((*results)[0]).mean, 1.0, 0.02);
    for (int64_t i = 0; i < 100000; ++i)
      ASSERT_EQ((*results)[0].data<float>()[i], (*results)[1].data<bool>()[i] ? 4.0f : 0.0f);
  }
}

}  // namespace
}  // namespace onward::kernels
