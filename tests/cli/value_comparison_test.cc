#include "cli/value_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace onward::cli {
namespace {

constexpr ComparisonTolerance kTolerance = {.rtol = 0.1, .atol = 0.01};

ValueComparison Compared(const Value& value, const Value& reference) {
  return CompareValues(value, reference, kTolerance);
}

TEST(CompareValues, MeasuresFloats) {
  const auto result = Compared(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}),
                               Tensor::Of<float>({2, 2}, {1, 2.5, 3.25, 4}));
  EXPECT_EQ(result.elements, 4);
  EXPECT_EQ(result.beyond, 1);  // 0.5 > 0.01 + 0.1 * 2.5
  EXPECT_DOUBLE_EQ(result.max_error, 0.5);
  EXPECT_DOUBLE_EQ(result.mean_error, 0.1875);
  EXPECT_EQ(result.worst, "at [0,1]: 2, reference 2.5");
  // Products 1 + 5 + 9.75 + 16; squares 1 + 4 + 9 + 16, and 1 + 6.25 + 10.5625 + 16.
  EXPECT_NEAR(result.cosine_distance, 1 - 31.75 / std::sqrt(30 * 33.8125), 1e-12);
  EXPECT_FALSE(result.within());
  EXPECT_TRUE(Compared(Tensor::Scalar(1.0F), Tensor::Scalar(1.05F)).within());
}

TEST(CompareValues, NotANumberAndInfinityEqualThemselves) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Tensor special = Tensor::Of<float>({3}, {nan, infinity, 1});
  EXPECT_TRUE(Compared(special, special).within());
  const Tensor thirds = Tensor::Of<double>({3}, {1. / 3, 2. / 3, 1e-9});
  EXPECT_EQ(Compared(thirds, thirds).cosine_distance, 0);
  const auto wrong = Compared(special, Tensor::Of<float>({3}, {0, -infinity, 1}));
  EXPECT_EQ(wrong.beyond, 2);
  EXPECT_EQ(wrong.max_error, 0);  // of finite ones
  EXPECT_EQ(wrong.worst, "at [0]: nan, reference 0");
}

TEST(CompareValues, AllElseIsExact) {
  EXPECT_EQ(Compared(Tensor::Of<int32_t>({2}, {100, 7}), Tensor::Of<int32_t>({2}, {101, 7})).beyond,
            1);
  EXPECT_TRUE(Compared(Tensor::Of<int32_t>({1}, {5}), Tensor::Of<int64_t>({1}, {5})).within());
  constexpr int64_t kLarge = int64_t{1} << 60;
  EXPECT_FALSE(Compared(Tensor::Scalar(kLarge), Tensor::Scalar(kLarge + 1)).within());
  EXPECT_FALSE(Compared(Tensor::Scalar(true), Tensor::Scalar(false)).within());
  const Tensor words = Tensor::Of<std::string>({2}, {"a", "b"});
  EXPECT_TRUE(Compared(words, words).within());
  const auto other = Compared(words, Tensor::Of<std::string>({2}, {"a", "c"}));
  EXPECT_EQ(other.beyond, 1);
  EXPECT_EQ(other.worst, "at [1]: other strings");
}

TEST(CompareValues, ComplexAndPackedElements) {
  using Complex = std::complex<float>;
  const auto result = Compared(Tensor::Of<Complex>({2}, {{1, 2}, {3, 4}}),
                               Tensor::Of<Complex>({2}, {{1, 2}, {3, 5}}));
  EXPECT_EQ(result.beyond, 1);
  EXPECT_EQ(result.worst, "at [1]: 4, reference 5");
  const auto packed = [](int8_t last) {
    Tensor tensor(DType::kFloat4E2M1, {3});
    const int8_t codes[] = {1, 2, last};  // 0.5, 1
    PackSubByte(DType::kFloat4E2M1, codes, 3, tensor.raw_mutable_data());
    return tensor;
  };
  EXPECT_EQ(Compared(packed(7), packed(6)).worst, "at [2]: 6, reference 4");
}

TEST(CompareValues, SaysWhatCannotBeCompared) {
  const Tensor one = Tensor::Scalar(1.0F);
  EXPECT_EQ(Compared(one, Tensor::Of<float>({1}, {1})).problem, "shape [], reference [1]");
  EXPECT_EQ(Compared(one, Tensor::Scalar<int64_t>(1)).problem, "dtype float32, reference int64");
  EXPECT_EQ(Compared(one, Tensor::Scalar(std::complex<float>(1, 0))).problem,
            "a real and a complex tensor");
  EXPECT_EQ(Compared(Value(), one).problem,
            "the values are of other kinds (tensor, sequence, map, none)");
  EXPECT_TRUE(Compared(Value(), Value()).within());
  EXPECT_EQ(Compared(Value(SequenceData{one}), Value(SequenceData{})).problem,
            "a sequence of 1, reference 0");
  EXPECT_EQ(Compared(Value(SequenceData{one, one}), Value(SequenceData{one, Value()})).problem,
            "[1]: the values are of other kinds (tensor, sequence, map, none)");
}

TEST(CompareValues, LooksIntoSequencesAndMaps) {
  const auto map = [](float value) {
    return Value(MapData(std::map<std::string, Tensor>{{"a", Tensor::Scalar(value)}}));
  };
  EXPECT_EQ(Compared(map(1), map(2)).worst, "{a} at []: 1, reference 2");
  EXPECT_EQ(Compared(map(1), Value(MapData(std::map<int64_t, Tensor>()))).problem,
            "the maps have other keys");
  const auto result = Compared(Value(SequenceData{Tensor::Scalar(1.0F), Tensor::Scalar(2.0F)}),
                               Value(SequenceData{Tensor::Scalar(1.0F), Tensor::Scalar(4.0F)}));
  EXPECT_EQ(result.elements, 2);
  EXPECT_EQ(result.worst, "[1] at []: 2, reference 4");
}

TEST(CompareValues, NothingIsEqualToNothing) {
  const auto empty = Compared(Tensor(DType::kFloat32, {0, 3}), Tensor(DType::kFloat32, {0, 3}));
  EXPECT_TRUE(empty.within());
  EXPECT_EQ(empty.cosine_distance, 0);
  EXPECT_EQ(Compared(Tensor::Scalar(0.0F), Tensor::Scalar(3.0F)).cosine_distance, 1);
}

}  // namespace
}  // namespace onward::cli
