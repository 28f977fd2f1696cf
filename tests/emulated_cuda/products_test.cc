// MatMul and Gemm of every float, with batches, broadcasting, transposition and bias.
#include <cmath>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

TEST(EmulatedProducts, MatMulIsTheCpus) {
  const Dims cases[][3] = {
      {{1, 1}, {1, 1}, {1, 1}},
      {{3, 5}, {5, 7}, {3, 7}},
      {{2, 65}, {65, 33}, {2, 33}},
      {{5}, {5, 7}, {7}},
      {{3, 5}, {5}, {3}},
      {{4, 3, 5}, {4, 5, 7}, {4, 3, 7}},
      {{2, 1, 3, 5}, {3, 5, 2}, {2, 3, 3, 2}},
      {{0, 5}, {5, 2}, {0, 2}},
      {{3, 0}, {0, 2}, {3, 2}},
  };
  for (const DType dtype : kFloats) {
    for (const auto& [a, b, y] : cases) {
      ExpectAsCpu(absl::StrCat("(", TextOf({dtype, y}), " y) { y = MatMul (a, b) }"),
                  {Filled({dtype, a}, 1, false), Filled({dtype, b}, 2, false)},
                  10 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedProducts, GemmIsTheCpus) {
  for (const DType dtype : kFloats) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const bool has_bias : {false, true}) {
          const Tensor a = Filled({dtype, trans_a ? Dims{9, 4} : Dims{4, 9}}, 1, false),
                       b = Filled({dtype, trans_b ? Dims{6, 9} : Dims{9, 6}}, 2, false),
                       c = Filled({dtype, {6}}, 3, false);
          const std::string graph = absl::StrCat(
              "(", TextOf({dtype, {4, 6}}), " y) { y = Gemm <alpha = 0.5, transA = ", trans_a,
              ", transB = ", trans_b, "> (a, b", has_bias ? ", c" : "", ") }");
          ExpectAsCpu(graph, has_bias ? std::vector<Tensor>{a, b, c} : std::vector<Tensor>{a, b},
                      10 * ToleranceOf(dtype));
        }
      }
    }
  }
}

// A row and a matrix: with columns and rows in packs and not, more of them than a block has.
TEST(EmulatedProducts, OneRowIsTheCpus) {
  const Dims sizes[] = {{1, 1}, {5, 7}, {130, 24}, {64, 2120}, {300, 33}, {1030, 8}};
  for (const DType dtype : kFloats) {
    for (const Dims& kn : sizes) {
      const int64_t k = kn[0], n = kn[1];
      for (const bool trans_b : {false, true}) {
        const std::vector<Tensor> inputs = {
            Filled({dtype, {1, k}}, 1, false),
            Filled({dtype, trans_b ? Dims{n, k} : Dims{k, n}}, 2, false),
            Filled({dtype, {n}}, 3, false), Filled({dtype, {1, n}}, 4, false)};
        // Sums of many numbers of either sign are small beside what they are made of.
        const double tolerance = 20 * ToleranceOf(dtype) * std::sqrt(static_cast<double>(k));
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, {1, n}}), " y) { y = Gemm <alpha = 0.5, ",
                                 "transB = ", trans_b, "> (a, b, c) }"),
                    {inputs[0], inputs[1], inputs[2]}, tolerance);
        for (const char* activation : {"", ", activation = \"relu\""}) {
          ExpectAsCpu(
              absl::StrCat("(", TextOf({dtype, {1, n}}), " y) { y = onward.FusedMatMul ",
                           "<transB = ", trans_b, ", alpha = 2.0", activation, "> (a, b, c, d) }"),
              inputs, tolerance);
        }
      }
    }
  }
}

constexpr const char* kActivations[] = {"Relu",
                                        "LeakyRelu <alpha = 0.2>",
                                        "Sigmoid",
                                        "Tanh",
                                        "Gelu",
                                        "Gelu <approximate = \"tanh\">",
                                        "Swish",
                                        "HardSwish",
                                        "HardSigmoid <alpha = 0.3, beta = 0.4>"};

// Transposes, a factor, a bias, a residual and an activation become parts of the product.
TEST(EmulatedProducts, FusedMatMulIsTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& batch : {Dims{}, Dims{3}, Dims{2, 3}}) {
      Dims a = batch, b = batch, y = batch;
      a.insert(a.end(), {4, 5});
      b.insert(b.end(), {6, 5});
      y.insert(y.end(), {4, 6});
      std::vector<int64_t> perm;
      for (size_t i = 0; i < b.size(); ++i) perm.push_back(static_cast<int64_t>(i));
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      const std::vector<Tensor> inputs = {
          Filled({dtype, a}, 1, false), Filled({dtype, b}, 2, false),
          Filled({dtype, {6}}, 3, false), Filled({dtype, y}, 4, false)};
      for (const char* activation : kActivations) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, y}), " y) { t = Transpose <perm = [",
                                 absl::StrJoin(perm, ", "),
                                 "]> (b) m = MatMul (a, t) s = Add (m, c) r = Add (d, s) y = ",
                                 activation, " (r) }"),
                    inputs, 20 * ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedProducts, FusedMatMulIsOneKernel) {
  const char* const graph =
      "(float16[4, 6] y) { m = MatMul (a, b) s = Add (m, c) r = Add (s, d) y = Relu (r) }";
  const std::vector<Tensor> inputs = {
      Filled({DType::kFloat16, {4, 5}}, 1, false), Filled({DType::kFloat16, {5, 6}}, 2, false),
      Filled({DType::kFloat16, {6}}, 3, false), Filled({DType::kFloat16, {4, 6}}, 4, false)};
  Configure({});
  ASSERT_TRUE(RunOn("cuda", graph, inputs).ok());
  EXPECT_EQ(Counted().products, 1);
  EXPECT_EQ(Counted().launches, 0);
}

}  // namespace
}  // namespace onward::emulated_cuda
