// The float32 products of every instruction set against sums in double.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomBFloats;
using testing::RandomFloats;

// How a case draws its operands: pairs of bfloat16 are multiplied without error.
using DrawTensor = Tensor (*)(DimsView dims, std::mt19937& random);
Tensor AnyFloats(DimsView dims, std::mt19937& random) { return RandomFloats(dims, random); }

int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

struct Strides {
  int64_t row, column;
};

// c[m, n] = sum over k of a[m, k] b[k, n].
void Multiply(const float* a, Strides as, const float* b, Strides bs, int64_t m, int64_t n,
              int64_t k, double alpha, float* c) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(a[i * as.row + l * as.column]) *
               static_cast<double>(b[l * bs.row + j * bs.column]);
      c[i * n + j] = static_cast<float>(alpha * sum);
    }
  }
}

OpCase MatMulCase(int64_t batch_a, int64_t batch_b, int64_t m, int64_t n, int64_t k,
                  std::mt19937& random, DrawTensor draw = AnyFloats) {
  OpCase c;
  c.name = absl::StrCat(batch_a, "/", batch_b, " x ", m, "x", n, "x", k);
  c.op = "MatMul";
  c.atol = 1e-5 * std::max<int64_t>(1, k / 64);
  const auto dims = [](int64_t batch, int64_t rows, int64_t columns) {
    return batch == 0 ? Dims{rows, columns} : Dims{batch, rows, columns};
  };
  c.inputs = {draw(dims(batch_a, m, k), random), draw(dims(batch_b, k, n), random)};
  const int64_t batch = std::max(batch_a, batch_b);
  Tensor y(DType::kFloat32, dims(batch, m, n));
  for (int64_t i = 0; i < std::max<int64_t>(1, batch); ++i) {
    Multiply(c.inputs[0].data<float>() + (batch_a > 1 ? i * m * k : 0), {k, 1},
             c.inputs[1].data<float>() + (batch_b > 1 ? i * k * n : 0), {n, 1}, m, n, k, 1,
             y.mutable_data<float>() + i * m * n);
  }
  c.expected = {y};
  return c;
}

TEST(MatMul, SmallSizesInEveryCombination) {
  std::mt19937 random(1);
  for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 70}) {
    for (int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 70}) {
      for (int64_t k : {0, 1, 2, 5, 16, 67})
        EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, m, n, k, random), 2), 2);
    }
  }
}

TEST(MatMul, RandomSizesAndBatches) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t batch = Draw(random, 1, 5), kind = Draw(random, 0, 3);
    ExpectFastKernels(
        MatMulCase(kind == 1 ? 1 : batch,
                   kind == 2   ? 0
                   : kind == 3 ? 1
                               : batch,
                   Draw(random, 1, 70), Draw(random, 1, 70), Draw(random, 1, 70), random),
        2);
  }
}

TEST(MatMul, SizesThatAreCutIntoBlocks) {
  std::mt19937 random(3);
  ExpectFastKernels(MatMulCase(0, 0, 300, 200, 900, random), 2);
  ExpectFastKernels(MatMulCase(0, 0, 1, 1000, 1500, random), 2);
  ExpectFastKernels(MatMulCase(0, 0, 3, 300, 2000, random), 2);
  ExpectFastKernels(MatMulCase(4, 4, 128, 130, 64, random), 2);
  // Rows that begin in one set of a first-level cache.
  ExpectFastKernels(MatMulCase(0, 0, 29, 70, 1024, random), 2);
  ExpectFastKernels(MatMulCase(2, 0, 260, 40, 2048, random), 2);
}

TEST(MatMul, Vectors) {
  std::mt19937 random(4);
  const Tensor matrix = RandomFloats({5, 7}, random), five = RandomFloats({5}, random),
               seven = RandomFloats({7}, random);
  Tensor left(DType::kFloat32, {7}), right(DType::kFloat32, {5}), dot(DType::kFloat32, Dims{});
  Multiply(five.data<float>(), {5, 1}, matrix.data<float>(), {7, 1}, 1, 7, 5, 1,
           left.mutable_data<float>());
  Multiply(matrix.data<float>(), {7, 1}, seven.data<float>(), {1, 1}, 5, 1, 7, 1,
           right.mutable_data<float>());
  Multiply(seven.data<float>(), {7, 1}, seven.data<float>(), {1, 1}, 1, 1, 7, 1,
           dot.mutable_data<float>());
  EXPECT_GE(ExpectFastKernels({"vector_matrix", "MatMul", "", {}, {five, matrix}, {left}}, 2), 2);
  EXPECT_GE(ExpectFastKernels({"matrix_vector", "MatMul", "", {}, {matrix, seven}, {right}}, 2), 2);
  EXPECT_GE(ExpectFastKernels({"dot", "MatMul", "", {}, {seven, seven}, {dot}}, 2), 2);
}

// The case in double: the products are those of floats, so that they are exact but for their sums.
Tensor Widened(const Tensor& floats) {
  Tensor wide(DType::kFloat64, floats.dims());
  for (int64_t i = 0; i < floats.num_elements(); ++i)
    wide.mutable_data<double>()[i] = static_cast<double>(floats.data<float>()[i]);
  return wide;
}
OpCase InDouble(OpCase c) {
  for (Tensor& input : c.inputs) input = Widened(input);
  c.expected = {Widened(c.expected[0])};
  return c;
}

// One operand is a vector, the other one large: by dots with rows, by sums of rows in parts of K.
TEST(MatMul, LargeMatrixAndVector) {
  std::mt19937 random(8);
  for (const uint64_t constants : {0, 2}) {
    EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, 70, 1, 1000, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, 331, 1, 37, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(3, 1, 33, 1, 400, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(3, 3, 33, 1, 400, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, 1, 700, 2001, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, 1, 65, 9001, random), constants), 2);
    EXPECT_GE(ExpectFastKernels(MatMulCase(0, 0, 1, 5001, 66, random), constants), 2);
  }
}

// Sizes of a product; 0: drawn.
struct Sizes {
  int64_t m = 0, n = 0, k = 0;
};

OpCase GemmCase(std::mt19937& random, DrawTensor draw = AnyFloats, int64_t least = 1,
                int64_t most = 70, Sizes sizes = {}) {
  const int64_t m = sizes.m > 0 ? sizes.m : Draw(random, least, most);
  const int64_t n = sizes.n > 0 ? sizes.n : Draw(random, least, most);
  const int64_t k = sizes.k > 0 ? sizes.k : Draw(random, least, most);
  const bool trans_a = Draw(random, 0, 1) != 0, trans_b = Draw(random, 0, 1) != 0;
  const float alpha = Draw(random, 0, 1) ? 1.0f : 0.5f, beta = Draw(random, 0, 1) ? 1.0f : -2.0f;
  OpCase c;
  c.name = absl::StrCat(m, "x", n, "x", k, " trans ", trans_a, trans_b, " ", alpha, " ", beta);
  c.op = "Gemm";
  c.atol = 1e-5;
  c.attributes = {
      {"alpha", alpha}, {"beta", beta}, {"transA", int64_t{trans_a}}, {"transB", int64_t{trans_b}}};
  c.inputs = {draw(trans_a ? Dims{k, m} : Dims{m, k}, random),
              draw(trans_b ? Dims{n, k} : Dims{k, n}, random)};
  Tensor y(DType::kFloat32, {m, n});
  Multiply(c.inputs[0].data<float>(), trans_a ? Strides{1, m} : Strides{k, 1},
           c.inputs[1].data<float>(), trans_b ? Strides{1, k} : Strides{n, 1}, m, n, k, alpha,
           y.mutable_data<float>());
  const Dims addends[] = {{}, {1}, {n}, {1, n}, {m, 1}, {m, n}, {1, 1}};
  const int64_t which = Draw(random, 0, 7);
  if (which < 7) {
    const Dims& dims = addends[which];
    c.inputs.push_back(RandomFloats(dims, random));
    const int64_t columns = dims.empty() ? 1 : dims.back(), rows = dims.size() < 2 ? 1 : dims[0];
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t row = rows == 1 ? 0 : i / n, column = columns == 1 ? 0 : i % n;
      y.mutable_data<float>()[i] += beta * c.inputs[2].data<float>()[row * columns + column];
    }
  }
  c.expected = {y};
  return c;
}

TEST(Gemm, RandomSizesFlagsAndAddends) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    EXPECT_GE(ExpectFastKernels(GemmCase(random), 2), 2);
  }
}

// Operands of these are packed by all threads before they are multiplied.
TEST(Gemm, LargeOperandsArePackedOnce) {
  std::mt19937 random(5);
  ExpectFastKernels(MatMulCase(0, 0, 2001, 40, 131, random), 2);
  ExpectFastKernels(MatMulCase(0, 0, 70, 2000, 130, random), 2);
  ExpectFastKernels(MatMulCase(0, 0, 90, 50, 2101, random), 2);
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    random.seed(seed);
    OpCase c = GemmCase(random, AnyFloats, 200, 320);
    c.atol = 1e-4;
    EXPECT_GE(ExpectFastKernels(c, 2), 2);
  }
  // Several blocks of K, of rows that lie side by side.
  OpCase c = MatMulCase(0, 0, 260, 70, 2100, random);
  Tensor transposed(DType::kFloat32, {2100, 260});
  for (int64_t i = 0; i < 260; ++i)
    for (int64_t k = 0; k < 2100; ++k)
      transposed.mutable_data<float>()[k * 260 + i] = c.inputs[0].data<float>()[i * 2100 + k];
  c.op = "Gemm";
  c.attributes = {{"transA", int64_t{1}}};
  c.inputs[0] = transposed;
  EXPECT_GE(ExpectFastKernels(c, 2), 2);
}

OpCase FusedCase(std::mt19937& random, DrawTensor draw = AnyFloats, Sizes sizes = {}) {
  const int64_t m = sizes.m > 0 ? sizes.m : Draw(random, 1, 70);
  const int64_t n = sizes.n > 0 ? sizes.n : Draw(random, 1, 70);
  const int64_t k = sizes.k > 0 ? sizes.k : Draw(random, 1, 70);
  const int64_t batch = sizes.k > 0 ? 1 : Draw(random, 1, 3);
  const bool trans_a = Draw(random, 0, 1) != 0, trans_b = Draw(random, 0, 1) != 0;
  const bool shared = Draw(random, 0, 1) != 0, bias = Draw(random, 0, 1) != 0;
  const float alpha = Draw(random, 0, 1) ? 1.0f : 0.125f;
  OpCase c;
  c.name = absl::StrCat(batch, " x ", m, "x", n, "x", k, " trans ", trans_a, trans_b, " shared ",
                        shared, " bias ", bias, " alpha ", alpha);
  c.op = "FusedMatMul";
  c.domain = "onward";
  c.atol = 1e-5;
  c.attributes = {{"alpha", alpha},
                  {"transA", int64_t{trans_a}},
                  {"transB", int64_t{trans_b}},
                  {"activation", std::string("relu")}};
  const int64_t b_batch = shared ? 1 : batch;
  c.inputs = {draw(trans_a ? Dims{batch, k, m} : Dims{batch, m, k}, random),
              draw(trans_b ? Dims{b_batch, n, k} : Dims{b_batch, k, n}, random),
              bias ? RandomFloats({n}, random) : Tensor()};
  Tensor y(DType::kFloat32, {batch, m, n});
  for (int64_t i = 0; i < batch; ++i) {
    Multiply(c.inputs[0].data<float>() + i * m * k, trans_a ? Strides{1, m} : Strides{k, 1},
             c.inputs[1].data<float>() + (shared ? 0 : i * k * n),
             trans_b ? Strides{1, k} : Strides{n, 1}, m, n, k, alpha,
             y.mutable_data<float>() + i * m * n);
  }
  if (Draw(random, 0, 1) != 0) c.inputs.push_back(RandomFloats(y.dims(), random));
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    float& value = y.mutable_data<float>()[i];
    if (bias) value += c.inputs[2].data<float>()[i % n];
    if (c.inputs.size() > 3) value += c.inputs[3].data<float>()[i];
    value = std::max(0.0f, value);
  }
  c.expected = {y};
  return c;
}

TEST(FusedMatMul, RandomSizesFlagsAndAddends) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    EXPECT_GE(ExpectFastKernels(FusedCase(random), 2), 2);
  }
}

TEST(FusedMatMul, VectorsAndAddends) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    for (const uint64_t constants : {0, 2}) {
      EXPECT_GE(ExpectFastKernels(FusedCase(random, AnyFloats, {0, 1, 0}), constants), 2);
      EXPECT_GE(ExpectFastKernels(GemmCase(random, AnyFloats, 1, 70, {0, 1, 0}), constants), 2);
    }
    if (seed % 4 != 0) continue;
    OpCase row = FusedCase(random, AnyFloats, {1, 700, 400});
    row.atol = 1e-5 * 400 / 64;
    EXPECT_GE(ExpectFastKernels(row), 2);
    row = GemmCase(random, AnyFloats, 1, 70, {1, 700, 400});
    row.atol = 1e-5 * 400 / 64;
    EXPECT_GE(ExpectFastKernels(row), 2);
  }
}

// Rounded operands are multiplied as in float32, in all sizes and layouts.
class PairsOfBFloat16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  }
  static void Expect(const OpCase& c) {
    EXPECT_EQ(ExpectFastKernels(c, 2, Precision::kFast), 2 * testing::NumBf16Targets()) << c.name;
  }
};

TEST_F(PairsOfBFloat16, SmallSizesInEveryCombination) {
  std::mt19937 random(21);
  for (int64_t m : {1, 7, 8, 9, 12, 13, 25, 70}) {
    for (int64_t n : {1, 7, 15, 16, 17, 31, 32, 33, 70}) {
      for (int64_t k : {0, 1, 2, 5, 16, 31, 32, 33, 67})
        Expect(MatMulCase(0, 0, m, n, k, random, RandomBFloats));
    }
  }
}

TEST_F(PairsOfBFloat16, SizesThatAreCutIntoBlocks) {
  std::mt19937 random(22);
  Expect(MatMulCase(0, 0, 300, 200, 901, random, RandomBFloats));
  Expect(MatMulCase(0, 0, 1, 1000, 1501, random, RandomBFloats));
  Expect(MatMulCase(4, 4, 128, 130, 64, random, RandomBFloats));
}

TEST_F(PairsOfBFloat16, RandomSizesFlagsAndAddends) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Expect(GemmCase(random, RandomBFloats));
    Expect(FusedCase(random, RandomBFloats));
  }
}

// Operands of these are packed by all threads before they are multiplied.
TEST_F(PairsOfBFloat16, LargeOperandsArePackedOnce) {
  std::mt19937 random(24);
  Expect(MatMulCase(0, 0, 2001, 40, 131, random, RandomBFloats));
  Expect(MatMulCase(0, 0, 70, 2000, 130, random, RandomBFloats));
  Expect(MatMulCase(0, 0, 90, 50, 2101, random, RandomBFloats));
  for (int i = 0; i < 20; ++i) {
    OpCase c = GemmCase(random, RandomBFloats, 200, 320);
    c.atol = 1e-4;
    Expect(c);
  }
}

// They are computed to fewer bits than operands keep; absolute bounds are those of deep tails.
TEST_F(PairsOfBFloat16, ActivationsAreExactToTwelveBits) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const double scale = std::sqrt(2 / M_PI);
  struct Function {
    const char* name;
    std::function<double(double)> of;
    double rtol, atol;
  };
  const Function functions[] = {
      {"sigmoid", sigmoid, 1.0 / 4096, 1e-35},
      {"silu", [&](double x) { return x * sigmoid(x); }, 1.0 / 4096, 1e-35},
      {"gelu", [&](double x) { return x * normal(x); }, 1.0 / 1024, 1e-5},
      {"gelu_tanh", [&](double x) { return x * sigmoid(2 * scale * (x + 0.044715 * x * x * x)); },
       1.0 / 4096, 1e-35},
      {"tanh", [](double x) { return std::tanh(x); }, 1.0 / 4096, 0},
  };
  std::vector<float> values = {0.0f, -0.0f, 0x1p100f, std::nanf(""), HUGE_VALF};
  for (int e = -20; e < 7; ++e) {
    for (int i = 128; i < 256; i += 5) {
      values.push_back(std::ldexp(static_cast<float>(i), e - 7));
      values.push_back(-values.back());
    }
  }
  const auto m = static_cast<int64_t>(values.size());
  constexpr int64_t kColumns = 33;
  for (const Function& function : functions) {
    OpCase c;
    c.op = "FusedMatMul", c.domain = "onward", c.name = function.name;
    c.attributes = {{"activation", std::string(function.name)}};
    c.rtol = function.rtol, c.atol = function.atol;
    Tensor y(DType::kFloat32, {m, kColumns});
    for (int64_t i = 0; i < m * kColumns; ++i) {
      y.mutable_data<float>()[i] =
          static_cast<float>(function.of(static_cast<double>(values[i / kColumns])));
    }
    c.inputs = {Tensor::Of<float>({m, 1}, values),
                Tensor::Of<float>({1, kColumns}, std::vector<float>(kColumns, 1.0f)), Tensor()};
    c.expected = {y};
    Expect(c);
  }
}

TEST_F(PairsOfBFloat16, OperandsAreRoundedToNearestEven) {
  std::mt19937 random(23);
  OpCase c = MatMulCase(0, 0, 16, 16, 1, random, RandomBFloats);
  for (int64_t i = 0; i < 16; ++i) {
    c.inputs[0].mutable_data<float>()[i] = i % 2 == 0 ? 1 + 1.0f / 256 : 1 + 3.0f / 256;
    c.inputs[1].mutable_data<float>()[i] = 1;
  }
  for (int64_t i = 0; i < 256; ++i)
    c.expected[0].mutable_data<float>()[i] = i / 16 % 2 == 0 ? 1 : 1 + 4.0f / 256;
  c.rtol = c.atol = 0;
  Expect(c);
}

TEST(Gemm, ErrorsAreOfTheArguments) {
  std::mt19937 random(5);
  OpCase c = {"inner",
              "Gemm",
              "",
              {},
              {RandomFloats({2, 3}, random), RandomFloats({4, 2}, random)},
              {Tensor(DType::kFloat32, {2, 2})}};
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op != c.op) continue;
    const absl::Status status = testing::RunKernel(entry, c).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
  }
}

// Processors that multiply float32 faster read the weights of few rows as pairs alone.
TEST(MatMul, WidenedPairsAreTheMatrix) {
  constexpr auto kTarget = cpu::Target::kAvx512Bf16;
  if ((cpu::AllowedTargets() & cpu::MaskOf(kTarget)) == 0) GTEST_SKIP() << "no AVX512-BF16";
  const cpu::GemmTileKernels& pairs = cpu::kBf16TilesPerTarget.For(kTarget)();
  const cpu::GemmTileKernels& floats = cpu::kGemmTilesPerTarget.For(kTarget)();
  std::mt19937 random(6);
  for (const int64_t k : {1, 2, 7, 64}) {
    for (const int64_t n : {1, 31, 32, 70}) {
      const Tensor b = RandomBFloats({k, n}, random);
      const auto narrow = cpu::PackedMatrix::Pack(pairs, b.data<float>(), n, false, k, n);
      const auto wide = cpu::PackedMatrix::Pack(floats, b.data<float>(), n, false, k, n);
      ASSERT_TRUE(narrow.ok() && wide.ok());
      const auto widened = cpu::PackedMatrix::Widen(floats, *narrow, k, n);
      ASSERT_TRUE(widened.ok());
      const int64_t columns = (n + floats.tile_cols - 1) / floats.tile_cols * floats.tile_cols;
      for (int64_t i = 0; i < k * columns; ++i)
        ASSERT_EQ(widened->data()[i], wide->data()[i]) << k << "x" << n << " at " << i;
    }
  }
}

// The expected sums are rounded to floats; RoundsAsDoubles looks at the rest.
TEST(DoubleProducts, SizesInEveryCombination) {
  std::mt19937 random(12);
  for (int64_t m : {0, 1, 2, 5, 6, 7, 12, 13, 25, 40}) {
    for (int64_t n : {0, 1, 3, 4, 5, 8, 15, 16, 17, 40}) {
      for (int64_t k : {0, 1, 67}) {
        EXPECT_GE(ExpectFastKernels(InDouble(MatMulCase(0, 0, m, n, k, random)), 2), 1);
      }
    }
  }
  for (const auto& [m, n, k] : {std::array{300, 200, 500}, {3, 300, 700}, {260, 40, 512}})
    EXPECT_GE(ExpectFastKernels(InDouble(MatMulCase(0, 0, m, n, k, random)), 2), 1);
  EXPECT_GE(ExpectFastKernels(InDouble(MatMulCase(4, 4, 30, 50, 64, random)), 2), 1);
  EXPECT_GE(ExpectFastKernels(InDouble(MatMulCase(4, 1, 30, 50, 64, random)), 2), 1);
}

TEST(DoubleProducts, GemmsOfEveryForm) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    EXPECT_GE(ExpectFastKernels(InDouble(GemmCase(random)), 2), 1);
  }
}

TEST(DoubleProducts, RoundAsDoubles) {
  std::mt19937 random(14);
  OpCase c = InDouble(MatMulCase(0, 0, 31, 45, 400, random));
  for (Tensor& input : c.inputs) {
    for (int64_t i = 0; i < input.num_elements(); ++i)
      input.mutable_data<double>()[i] += std::ldexp(static_cast<double>(random() % 1024), -40);
  }
  for (int64_t i = 0; i < 31 * 45; ++i) {
    long double sum = 0;
    for (int64_t k = 0; k < 400; ++k)
      sum += static_cast<long double>(c.inputs[0].data<double>()[i / 45 * 400 + k]) *
             static_cast<long double>(c.inputs[1].data<double>()[k * 45 + i % 45]);
    c.expected[0].mutable_data<double>()[i] = static_cast<double>(sum);
  }
  c.rtol = 0;
  c.atol = 1e-13;
  EXPECT_GE(ExpectFastKernels(c, 2), 1);
}

}  // namespace
}  // namespace onward::kernels
