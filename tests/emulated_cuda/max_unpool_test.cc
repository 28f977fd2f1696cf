// MaxUnpool: places that MaxPool found, drawn places that repeat, and those out of range.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct UnpoolCase {
  Dims x;
  const char* attributes;
  Dims inferred;
  Dims y;  // empty: the inferred ones
};

const UnpoolCase kCases[] = {
    {{2, 3, 4}, "kernel_shape = [2], strides = [2]", {2, 3, 8}, {}},
    {{1, 2, 3, 4}, "kernel_shape = [2, 2], strides = [2, 2]", {1, 2, 6, 8}, {1, 2, 7, 9}},
    {{2, 1, 5, 5},
     "kernel_shape = [3, 3], strides = [1, 2], pads = [1, 1, 1, 1]",
     {2, 1, 5, 9},
     {}},
    {{1, 2, 2, 3, 2}, "kernel_shape = [2, 2, 2], strides = [2, 2, 2]", {1, 2, 4, 6, 4}, {}},
    {{0, 2, 3, 4}, "kernel_shape = [2, 2], strides = [2, 2]", {0, 2, 6, 8}, {}},
    {{1, 1, 1, 1}, "kernel_shape = [2, 2]", {1, 1, 2, 2}, {2, 3, 2, 5}},
};

// Few places, so that they repeat: the last one counts.
TEST(EmulatedMaxUnpool, IsTheCpus) {
  uint32_t seed = 0;
  for (const DType dtype : kFloats) {
    for (const UnpoolCase& one : kCases) {
      SCOPED_TRACE(absl::StrCat("seed ", ++seed));
      CaseDraw draw(seed);
      const Dims& y = one.y.empty() ? one.inferred : one.y;
      const int64_t most = std::max<int64_t>(NumElements(one.inferred) - 1, 0);
      for (const int64_t last : {most, most / 4}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, y}), " y) { s = Constant <value_ints = [",
                                 absl::StrJoin(y, ", "), "]> () y = MaxUnpool <", one.attributes,
                                 "> (a, b", one.y.empty() ? "" : ", s", ") }"),
                    {Filled({dtype, one.x}, seed, true), draw.Integers(one.x, 0, last)}, 0);
      }
    }
  }
}

// Whichever thread comes first.
TEST(EmulatedMaxUnpool, TheLastOfRepeatedIndicesCountsInEveryOrder) {
  CaseDraw draw(3);
  const std::vector<Tensor> inputs = {Filled({DType::kFloat32, {2, 3, 40, 5}}, 1, false),
                                      draw.Integers({2, 3, 40, 5}, 0, 99)};
  const std::string graph =
      "(float[2, 3, 80, 10] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (a, b) }";
  const auto expected = RunOn("cpu", graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const Order order : {Order::kEager, Order::kLate, Order::kRandom}) {
    Configure({.order = order});
    const auto actual = RunOn("cuda", graph, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 0, 0), "");
  }
  Configure({});
}

TEST(EmulatedMaxUnpool, UndoesMaxPool) {
  ExpectAsCpu(
      "(float[2, 3, 8, 6] y) { p, i = MaxPool <kernel_shape = [2, 3], strides = [2, 3]> (a) y = "
      "MaxUnpool <kernel_shape = [2, 3], strides = [2, 3]> (p, i) }",
      {Filled({DType::kFloat32, {2, 3, 8, 6}}, 1, false)}, 0);
}

TEST(EmulatedMaxUnpool, FindsIndicesOutOfRange) {
  const Tensor x = Filled({DType::kFloat32, {1, 1, 2}}, 1, false);
  const std::string graph =
      "(float[1, 1, 4] y) { y = MaxUnpool <kernel_shape = [2], strides = [2]> (a, b) }";
  for (const int64_t index : {-1, 4}) {
    const std::vector<Tensor> inputs = {x, Tensor::Of<int64_t>({1, 1, 2}, {0, index})};
    for (const char* provider : {"cpu", "cuda"}) {
      const absl::Status status = RunOn(provider, graph, inputs).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << provider << status;
    }
    EXPECT_NE(RunOn("cuda", graph, inputs)
                  .status()
                  .message()
                  .find(absl::StrCat("index ", index,
                                     " at position 1 is out of range for an axis of size 4")),
              std::string::npos);
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
