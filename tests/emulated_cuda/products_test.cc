// MatMul and Gemm of every float, with batches, broadcasting, transposition and bias.
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

}  // namespace
}  // namespace onward::emulated_cuda
