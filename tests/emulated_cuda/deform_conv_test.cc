// DeformConv: drawn images, filters, offsets and masks.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct Drawn {
  Dims x, w, offset, mask, y;
  int64_t group, offset_group;
  Dims strides, dilations, pads;
};

Drawn DrawDims(CaseDraw& draw) {
  Drawn d;
  d.group = draw.From(1, 2);
  d.offset_group = draw.From(1, 2);
  const int64_t channels = 2 * draw.From(1, 2), filters = d.group * draw.From(1, 11);
  const int64_t batch = draw.From(0, 9) == 0 ? 0 : draw.From(1, 2);
  d.x = {batch, channels};
  d.w = {filters, channels / d.group};
  d.y = {batch, filters};
  int64_t taps = d.offset_group;
  Dims ends;
  for (int i = 0; i < 2; ++i) {
    const int64_t kernel = draw.From(1, 3), room = draw.From(0, 5);
    d.strides.push_back(draw.From(1, 2));
    d.dilations.push_back(draw.From(1, 2));
    d.pads.push_back(draw.From(0, 1));
    ends.push_back(draw.From(0, 1));
    const int64_t extent = (kernel - 1) * d.dilations.back() + 1;
    d.x.push_back(extent + room);
    d.w.push_back(kernel);
    d.y.push_back((room + d.pads.back() + ends.back()) / d.strides.back() + 1);
    taps *= kernel;
  }
  d.pads.insert(d.pads.end(), ends.begin(), ends.end());
  d.mask = {batch, taps, d.y[2], d.y[3]};
  d.offset = {batch, 2 * taps, d.y[2], d.y[3]};
  return d;
}

std::string List(const char* name, const Dims& values) {
  return absl::StrCat(name, " = [", absl::StrJoin(values, ", "), "]");
}

TEST(EmulatedDeformConv, IsTheCpus) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const Drawn d = DrawDims(draw);
    const DType dtype = draw.Of(kFloats);
    std::vector<Tensor> inputs = {draw.Floats(dtype, d.x, -1, 1), draw.Floats(dtype, d.w, -1, 1),
                                  draw.Floats(dtype, d.offset, -3, 3)};
    const char* const names = seed % 4 == 0   ? "a, b, c"
                              : seed % 4 == 1 ? "a, b, c, d"
                              : seed % 4 == 2 ? "a, b, c, , d"
                                              : "a, b, c, d, e";
    if (seed % 2 == 1) inputs.push_back(draw.Floats(dtype, {d.w[0]}, -1, 1));
    if (seed % 4 >= 2) inputs.push_back(draw.Floats(dtype, d.mask, 0, 1));
    ExpectAsCpu(absl::StrCat("(", TextOf({dtype, d.y}), " y) { y = DeformConv <group = ", d.group,
                             ", offset_group = ", d.offset_group, ", ", List("strides", d.strides),
                             ", ", List("dilations", d.dilations), ", ", List("pads", d.pads),
                             "> (", names, ") }"),
                inputs, 20 * ToleranceOf(dtype));
  }
}

// NaN and offsets that lead far away read nothing.
TEST(EmulatedDeformConv, ExtremeOffsetsAreTheCpus) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor offset = Tensor::Of<float>({1, 2, 2, 2}, {nan, inf, -1e30f, 0, 0, 0, 0, 1e30f});
  ExpectAsCpu("(float[1, 3, 2, 2] y) { y = DeformConv (a, b, c) }",
              {Filled({DType::kFloat32, {1, 1, 2, 2}}, 1, false),
               Filled({DType::kFloat32, {3, 1, 1, 1}}, 2, false), offset},
              1e-6);
}

}  // namespace
}  // namespace onward::emulated_cuda
