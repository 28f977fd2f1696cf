#include "onward/tensor.h"

#include <gtest/gtest.h>

namespace onward {
namespace {

TEST(Tensor, Zeros) {
  EXPECT_TRUE(SameBits(Tensor::Zeros(DType::kFloat16, {2, 2}),
                       Tensor::Of<Float16>({2, 2}, {Float16(), Float16(), Float16(), Float16()})));
  EXPECT_TRUE(SameBits(Tensor::Zeros(DType::kString, {1}), Tensor::Of<std::string>({1}, {""})));
  EXPECT_EQ(Tensor::Zeros(DType::kInt4, {3}).byte_size(), 2);
  EXPECT_EQ(Tensor::Zeros(DType::kInt64, {0, 4}).num_elements(), 0);
}

TEST(Tensor, Full) {
  EXPECT_TRUE(SameBits(Tensor::Full<int32_t>({2, 1}, 7), Tensor::Of<int32_t>({2, 1}, {7, 7})));
  EXPECT_TRUE(
      SameBits(Tensor::Full<std::string>({2}, "a"), Tensor::Of<std::string>({2}, {"a", "a"})));
  EXPECT_TRUE(SameBits(Tensor::Full({}, 1.5), Tensor::Scalar(1.5)));
}

// Values of numpy.arange.
TEST(Tensor, Range) {
  EXPECT_TRUE(SameBits(Tensor::Range<int64_t>(0, 3), Tensor::Of<int64_t>({3}, {0, 1, 2})));
  EXPECT_TRUE(SameBits(Tensor::Range<int64_t>(5, 0, -2), Tensor::Of<int64_t>({3}, {5, 3, 1})));
  EXPECT_TRUE(SameBits(Tensor::Range<int32_t>(3, 3), Tensor(DType::kInt32, {0})));
  EXPECT_TRUE(SameBits(Tensor::Range<int32_t>(3, 0), Tensor(DType::kInt32, {0})));
  EXPECT_TRUE(
      SameBits(Tensor::Range<uint8_t>(250, 255, 2), Tensor::Of<uint8_t>({3}, {250, 252, 254})));
  EXPECT_TRUE(
      SameBits(Tensor::Range(0.0, 1.0, 0.25), Tensor::Of<double>({4}, {0, 0.25, 0.5, 0.75})));
  EXPECT_TRUE(SameBits(Tensor::Range(1.0F, 2.1F, 0.5F), Tensor::Of<float>({3}, {1, 1.5F, 2})));
}

}  // namespace
}  // namespace onward
