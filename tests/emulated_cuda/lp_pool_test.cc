// LpPool and GlobalLpPool on the device.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

TEST(EmulatedLpPool, IsTheCpus) {
  const struct {
    Dims x, y;
    const char* attributes;
  } cases[] = {
      {{1, 2, 9}, {1, 2, 4}, "kernel_shape = [3], strides = [2]"},
      {{2, 3, 7, 8}, {2, 3, 3, 4}, "kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1"},
      {{1, 2, 6, 6}, {1, 2, 7, 5}, "kernel_shape = [2, 3], pads = [1, 0, 1, 1]"},
      {{1, 1, 7, 7}, {1, 1, 3, 3}, "kernel_shape = [3, 3], dilations = [2, 2]"},
      {{1, 2, 4, 5, 6}, {1, 2, 3, 4, 5}, "kernel_shape = [2, 2, 2]"},
      {{1, 1, 5, 5}, {1, 1, 5, 5}, "kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\""},
      {{0, 2, 5}, {0, 2, 4}, "kernel_shape = [2]"},
  };
  for (const DType dtype : kFloats) {
    for (const auto& one : cases) {
      for (const int p : {1, 2, 3}) {
        for (const bool special : {false, true}) {
          ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = LpPool <p = ", p, ", ",
                                   one.attributes, "> (a) }"),
                      {Filled({dtype, one.x}, 1, special)}, 2 * ToleranceOf(dtype));
        }
      }
    }
  }
}

// Planes that a warp sums, and those that a block does.
TEST(EmulatedLpPool, OfWholePlanesIsTheCpus) {
  const Dims shapes[] = {{2, 3, 5}, {1, 2, 9, 40}, {1, 1, 50, 60}, {2, 3, 4, 5, 6},
                         {0, 3, 4}, {2, 3, 0},     {3, 1, 1},      {2, 2}};
  for (const DType dtype : kFloats) {
    for (const Dims& x : shapes) {
      Dims y(x.size(), 1);
      y[0] = x[0], y[1] = x[1];
      for (const int p : {1, 2, 3}) {
        for (const bool special : {false, true}) {
          ExpectAsCpu(
              absl::StrCat("(", TextOf({dtype, y}), " y) { y = GlobalLpPool <p = ", p, "> (a) }"),
              {Filled({dtype, x}, 1, special)}, 4 * ToleranceOf(dtype));
        }
      }
    }
  }
}

TEST(EmulatedLpPool, LeavesFourAxesToTheHost) {
  SessionOptions options;
  options.provider = "cuda";
  auto model = testing::ModelFromText(
      "g (float[1, 1, 3, 3, 3, 3] x) => (float[1, 1, 2, 2, 2, 2] y) "
      "{ y = LpPool <kernel_shape = [2, 2, 2, 2]> (x) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  for (const NodeExplanation& node : (*session)->Explain()) {
    if (node.node.find("LpPool") != std::string::npos) {
      EXPECT_EQ(node.provider, "cpu");
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
