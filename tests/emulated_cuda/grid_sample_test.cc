// GridSample and AffineGrid: drawn images and grids of one to three axes, by every mode.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

Dims SampledDims(const Dims& x, const Dims& grid) {
  Dims y = {x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  return y;
}

void ExpectSamples(const std::string& attributes, const Tensor& x, const Tensor& grid,
                   double tolerance) {
  const Dims in(x.dims().begin(), x.dims().end()), at(grid.dims().begin(), grid.dims().end());
  ExpectAsCpu(absl::StrCat("(", TextOf({x.dtype(), SampledDims(in, at)}), " y) { y = GridSample <",
                           attributes, "> (a, b) }"),
              {x, grid}, tolerance);
}

std::string Attributes(CaseDraw& draw, const char* mode) {
  constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  return absl::StrCat("mode = \"", mode, "\", padding_mode = \"", draw.Of(kPaddings),
                      "\", align_corners = ", draw.From(0, 1));
}

struct Drawn {
  Dims x, grid;
};

Drawn DrawDims(CaseDraw& draw, int64_t most_axes) {
  const int64_t axes = draw.From(1, most_axes), batch = draw.From(0, 12) == 0 ? 0 : draw.From(1, 3);
  Drawn drawn = {{batch, draw.From(1, 5)}, {batch}};
  for (int64_t i = 0; i < axes; ++i) {
    drawn.x.push_back(draw.From(1, 6));
    drawn.grid.push_back(draw.From(0, 15) == 0 ? 0 : draw.From(1, 7));
  }
  drawn.grid.push_back(axes);
  return drawn;
}

TEST(EmulatedGridSample, InterpolationIsTheCpus) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const std::string attributes = Attributes(draw, seed % 2 == 0 ? "linear" : "cubic");
    // The standard's cubic mode is of images alone; the kernels take any number of axes.
    const Drawn dims = DrawDims(draw, 3);
    const DType dtype = draw.Of(kFloats);
    const Tensor grid = draw.Floats(draw.Of(kFloats), dims.grid, -1.6, 1.6);
    ExpectSamples(attributes, Filled({dtype, dims.x}, seed, seed % 5 == 0), grid,
                  4 * ToleranceOf(dtype));
  }
}

// More images than a grid has blocks in y or z.
TEST(EmulatedGridSample, TakesManyImages) {
  CaseDraw draw(1);
  ExpectSamples("mode = \"linear\"", Filled({DType::kFloat32, {65537, 1, 2, 2}}, 1, false),
                draw.Floats(DType::kFloat32, {65537, 1, 1, 2}, -1.2, 1.2), 1e-5);
}

TEST(EmulatedGridSample, NearestMovesElementsOfAnySize) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                              DType::kUint8,   DType::kInt64,   DType::kBool};
  for (uint32_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const std::string attributes = Attributes(draw, "nearest");
    const Drawn dims = DrawDims(draw, 3);
    const Tensor x = Filled({draw.Of(kTypes), dims.x}, seed, true);
    ExpectSamples(attributes, x, draw.Floats(draw.Of(kFloats), dims.grid, -1.6, 1.6), 0);
  }
}

// Coordinates of NaN, beyond what integers hold, at the borders.
TEST(EmulatedGridSample, ExtremeCoordinatesAreTheCpus) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor grid = Tensor::Of<float>(
      {1, 1, 8, 2}, {nan, 0, inf, 0, -inf, 0.5f, 1e30f, -1e30f, -1, 1, 1, -1, 1, 1, -1, -1});
  const Tensor x = Filled({DType::kFloat32, {1, 2, 3, 4}}, 3, false);
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int corners : {0, 1}) {
        ExpectSamples(absl::StrCat("mode = \"", mode, "\", padding_mode = \"", padding,
                                   "\", align_corners = ", corners),
                      x, grid, 1e-6);
      }
    }
  }
}

// A thread takes several channels.
TEST(EmulatedGridSample, ManySamplesAreTheCpus) {
  CaseDraw draw(7);
  ExpectSamples("mode = \"linear\"", Filled({DType::kFloat32, {1, 3, 9, 9}}, 1, false),
                draw.Floats(DType::kFloat32, {1, 260, 300, 2}, -1, 1), 1e-6);
}

TEST(EmulatedGridSample, FourAxesAreRefused) {
  const Tensor x = Filled({DType::kFloat32, {1, 1, 2, 2, 2, 2}}, 1, false);
  const Tensor grid = Filled({DType::kFloat32, {1, 1, 1, 1, 1, 4}}, 1, false);
  const std::string graph = "(float[1, 1, 1, 1, 1, 1] y) { y = GridSample (a, b) }";
  EXPECT_EQ(RunOn("cuda", graph, {x, grid}).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(EmulatedAffineGrid, IsTheCpus) {
  const Dims sizes[] = {{2, 3, 4, 5}, {1, 1, 1, 7}, {0, 2, 3, 3}, {3, 1, 2, 3, 4}, {2, 1, 5, 1, 1}};
  for (const DType dtype : kFloats) {
    for (const Dims& size : sizes) {
      const auto axes = static_cast<int64_t>(size.size()) - 2;
      Dims y = {size[0]};
      y.insert(y.end(), size.begin() + 2, size.end());
      y.push_back(axes);
      for (const int corners : {0, 1}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, y}), " y) { s = Constant <value_ints = [",
                                 absl::StrJoin(size, ", "),
                                 "]> () y = AffineGrid <align_corners = ", corners, "> (a, s) }"),
                    {Filled({dtype, {size[0], axes, axes + 1}}, 1, false)}, ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedAffineGrid, TakesASizeOfTheRun) {
  const Tensor size = Tensor::Of<int64_t>({4}, {2, 1, 3, 2});
  ExpectAsCpu("(float[n, h, w, 2] y) { y = AffineGrid (a, b) }",
              {Filled({DType::kFloat32, {2, 2, 3}}, 1, false), size}, 1e-6);
}

}  // namespace
}  // namespace onward::emulated_cuda
