#include "onward/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "onward/small_float.h"

namespace onward {
namespace {

std::string Printed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Nested and aligned as NumPy prints arrays.
TEST(TensorText, NestsTheAxes) {
  EXPECT_EQ(TensorText(Tensor::Of<int64_t>({2, 3}, {1, -20, 3, 4, 5, 6})),
            "int64[2,3]\n[[  1, -20,   3],\n [  4,   5,   6]]");
  EXPECT_EQ(TensorText(Tensor::Of<uint8_t>({2, 1, 2}, {1, 2, 3, 255})),
            "uint8[2,1,2]\n[[[  1,   2]],\n [[  3, 255]]]");
  EXPECT_EQ(TensorText(Tensor::Of<int8_t>({3}, {65, -1, 0})), "int8[3] [65, -1,  0]");
  EXPECT_EQ(TensorText(Tensor::Scalar<int32_t>(7)), "int32[] 7");
  EXPECT_EQ(TensorText(Tensor(DType::kFloat32, {1'000'000'000, 0, 5})),
            "float32[1000000000,0,5] []");
  EXPECT_EQ(TensorText(Tensor()), "no tensor");
}

TEST(TensorText, WritesElementsOfEveryKind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(TensorText(Tensor::Of<float>({5}, {0.1F, 1.0F / 3, -0.0F, kInfinity, 1e-45F})),
            "float32[5] [       0.1, 0.33333334,         -0,        inf,      1e-45]");
  EXPECT_EQ(TensorText(Tensor::Scalar(std::nan(""))), "float64[] nan");
  EXPECT_EQ(TensorText(Tensor::Scalar(0.1)), "float64[] 0.1");
  EXPECT_EQ(TensorText(Tensor::Of<Float16>({2}, {Float16(0.1F), Float16(65504)})),
            "float16[2] [0.0999756,     65504]");
  EXPECT_EQ(TensorText(Tensor::Scalar(BFloat16(3.14F))), "bfloat16[] 3.14062");
  EXPECT_EQ(TensorText(Tensor::Scalar(Float8E5M2(1.5F))), "float8e5m2[] 1.5");
  EXPECT_EQ(TensorText(Tensor::Of<bool>({2}, {true, false})), "bool[2] [ true, false]");
  EXPECT_EQ(TensorText(Tensor::Of<std::string>({2}, {"é\n", "a\"b"})),
            R"(string[2] [ "é\n", "a\"b"])");
  EXPECT_EQ(TensorText(Tensor::Of<std::complex<float>>({2}, {{1, -2}, {0.5F, 3}})),
            "complex64[2] [  1-2j, 0.5+3j]");
}

// As many as do not fill whole bytes.
TEST(TensorText, UnpacksPackedTypes) {
  const auto packed = [](DType dtype, std::vector<int8_t> codes) {
    Tensor tensor(dtype, {static_cast<int64_t>(codes.size())});
    PackSubByte(dtype, codes.data(), static_cast<int64_t>(codes.size()), tensor.raw_mutable_data());
    return TensorText(tensor);
  };
  EXPECT_EQ(packed(DType::kInt4, {-8, 7, -1, 0, 1, 2, 3, 4, 5, -6, 7}),
            "int4[11] [-8,  7, -1,  0,  1,  2,  3,  4,  5, -6,  7]");
  EXPECT_EQ(packed(DType::kUint4, {15, 0, 9}), "uint4[3] [15,  0,  9]");
  EXPECT_EQ(packed(DType::kInt2, {-2, 1, 0}), "int2[3] [-2,  1,  0]");
  EXPECT_EQ(packed(DType::kUint2, {3, 1, 0, 2, 3}), "uint2[5] [3, 1, 0, 2, 3]");
  // OCP's tables: e2m1 0b0111 is 6, 0b1001 is -0.5; e2m3 0b000001 is 0.125; e3m2 0b011111 is 28.
  EXPECT_EQ(packed(DType::kFloat4E2M1, {7, 9, 2}), "float4e2m1[3] [   6, -0.5,    1]");
  EXPECT_EQ(packed(DType::kFloat6E2M3, {1, 31}), "float6e2m3[2] [0.125,   7.5]");
  EXPECT_EQ(packed(DType::kFloat6E3M2, {31, 32 + 12}), "float6e3m2[2] [28, -1]");
}

TEST(TensorText, AbbreviatesLargeTensors) {
  Tensor large(DType::kInt64, {40, 30});
  for (int64_t i = 0; i < 1200; ++i) large.mutable_data<int64_t>()[i] = i;
  EXPECT_EQ(TensorText(large),
            "int64[40,30]\n"
            "[[   0,    1,    2, ...,   27,   28,   29],\n"
            " [  30,   31,   32, ...,   57,   58,   59],\n"
            " [  60,   61,   62, ...,   87,   88,   89],\n"
            " ...,\n"
            " [1110, 1111, 1112, ..., 1137, 1138, 1139],\n"
            " [1140, 1141, 1142, ..., 1167, 1168, 1169],\n"
            " [1170, 1171, 1172, ..., 1197, 1198, 1199]]");
  EXPECT_EQ(TensorText(Tensor::Of<int64_t>({4}, {1, 2, 3, 4}), {.most = 3, .edge = 1}),
            "int64[4] [1, ..., 4]");
  // An axis that is not longer than both ends is whole.
  EXPECT_EQ(TensorText(Tensor::Of<int64_t>({4}, {1, 2, 3, 4}), {.most = 3, .edge = 2}),
            "int64[4] [1, 2, 3, 4]");
  const Tensor long_axis(DType::kUint8, {int64_t{1} << 31});  // any byte is one
  EXPECT_LT(TensorText(long_axis).size(), 100u);
}

TEST(ValueText, WritesEveryKind) {
  EXPECT_EQ(Printed(Value()), "none");
  EXPECT_EQ(Printed(Tensor::Scalar(1.5F)), "float32[] 1.5");
  EXPECT_EQ(Printed(Value(SequenceData{Tensor::Scalar(1.5F), Value()})), "[float32[] 1.5,\n none]");
  EXPECT_EQ(Printed(Value(SequenceData())), "[]");
  EXPECT_EQ(Printed(Value(MapData(std::map<int64_t, Tensor>{{3, Tensor::Scalar(1.5F)}}))),
            "{3: float32[] 1.5}");
  EXPECT_EQ(Printed(Value(MapData(std::map<std::string, Tensor>{{"a", Tensor::Scalar(2.0)},
                                                                {"b", Tensor::Scalar(3.0)}}))),
            "{\"a\": float64[] 2,\n \"b\": float64[] 3}");
}

}  // namespace
}  // namespace onward
