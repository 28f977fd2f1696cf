// Col2Im: drawn blocks of images of one to three axes.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct Drawn {
  Dims image, block, dilations, pads, strides, x, y;
};

// Blocks that fit the image, of `axes` axes.
Drawn DrawBlocks(CaseDraw& draw, int64_t axes) {
  Drawn d;
  int64_t columns = 1, elements = 1;
  Dims ends;
  for (int64_t i = 0; i < axes; ++i) {
    d.block.push_back(draw.From(1, 3));
    d.dilations.push_back(draw.From(1, 3));
    d.strides.push_back(draw.From(1, 3));
    d.pads.push_back(draw.From(0, 2));
    ends.push_back(draw.From(0, 2));
    const int64_t reach = d.dilations.back() * (d.block.back() - 1) + 1;
    const int64_t room = draw.From(0, 6), pads = d.pads.back() + ends.back();
    d.image.push_back(std::max<int64_t>(reach + room - pads, 1));
    columns *= (d.image.back() + pads - reach) / d.strides.back() + 1;
    elements *= d.block.back();
  }
  d.pads.insert(d.pads.end(), ends.begin(), ends.end());
  const int64_t batch = draw.From(0, 9) == 0 ? 0 : draw.From(1, 3), channels = draw.From(1, 3);
  d.x = {batch, channels * elements, columns};
  d.y = {batch, channels};
  d.y.insert(d.y.end(), d.image.begin(), d.image.end());
  return d;
}

std::string List(const char* name, const Dims& values) {
  return absl::StrCat(name, " = [", absl::StrJoin(values, ", "), "]");
}

TEST(EmulatedCol2Im, IsTheCpus) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                              DType::kInt8,    DType::kInt32,   DType::kInt64};
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const Drawn d = DrawBlocks(draw, draw.From(1, 3));
    const DType dtype = draw.Of(kTypes);
    const bool halves = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    // The host rounds each sum of halves.
    const double tolerance = halves ? 8 * ToleranceOf(dtype) : 0;
    const std::string graph =
        absl::StrCat("(", TextOf({dtype, d.y}), " y) { s = Constant <", List("value_ints", d.image),
                     "> () t = Constant <", List("value_ints", d.block), "> () y = Col2Im <",
                     List("dilations", d.dilations), ", ", List("pads", d.pads), ", ",
                     List("strides", d.strides), "> (a, s, t) }");
    ExpectAsCpu(graph, {Filled({dtype, d.x}, seed, seed % 5 == 0 && !halves)}, tolerance);
  }
}

TEST(EmulatedCol2Im, TakesSizesOfTheRun) {
  const Tensor x = Filled({DType::kFloat32, {1, 6, 8}}, 1, false);
  ExpectAsCpu("(float[n, c, h, w] y) { y = Col2Im (a, b, c) }",
              {x, Tensor::Of<int64_t>({2}, {3, 6}), Tensor::Of<int64_t>({2}, {2, 3})}, 0);
}

// More images than a grid has blocks in y or z.
TEST(EmulatedCol2Im, TakesManyImages) {
  ExpectAsCpu(
      "(float[65537, 1, 3] y) { s = Constant <value_ints = [3]> () "
      "t = Constant <value_ints = [2]> () y = Col2Im (a, s, t) }",
      {Filled({DType::kFloat32, {65537, 2, 2}}, 1, false)}, 0);
}

TEST(EmulatedCol2Im, FourAxesAreRefused) {
  const Tensor x = Filled({DType::kFloat32, {1, 1, 16}}, 1, false);
  const Tensor image = Tensor::Of<int64_t>({4}, {2, 2, 2, 2}),
               block = Tensor::Of<int64_t>({4}, {1, 1, 1, 1});
  const std::string graph = "(float[n, c, d, e, f, g] y) { y = Col2Im (a, b, c) }";
  EXPECT_EQ(RunOn("cuda", graph, {x, image, block}).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace onward::emulated_cuda
