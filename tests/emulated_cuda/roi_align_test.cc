// RoiAlign and MaxRoiPool: drawn regions, and those that the device finds to name no image.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

TEST(EmulatedRoiAlign, IsTheCpus) {
  constexpr const char* kModes[] = {"avg", "max"};
  constexpr const char* kRules[] = {"half_pixel", "output_half_pixel"};
  for (uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const DType dtype = draw.Of(kFloats);
    const Dims x = {draw.From(1, 3), draw.From(1, 4), draw.From(1, 9), draw.From(1, 9)};
    const int64_t count = draw.From(0, 5), height = draw.From(1, 4), width = draw.From(1, 4);
    const std::string graph = absl::StrCat(
        "(", TextOf({dtype, {count, x[1], height, width}}), " y) { y = RoiAlign <mode = \"",
        draw.Of(kModes), "\", coordinate_transformation_mode = \"", draw.Of(kRules),
        "\", output_height = ", height, ", output_width = ", width,
        ", sampling_ratio = ", draw.From(0, 3), ", spatial_scale = 0.5> (a, b, c) }");
    ExpectAsCpu(graph,
                {Filled({dtype, x}, seed, seed % 7 == 0), draw.Floats(dtype, {count, 4}, -3, 22),
                 draw.Integers({count}, 0, x[0] - 1)},
                8 * ToleranceOf(dtype));
  }
}

// The error of the device for regions of a map [2, 1, 4, 4].
absl::Status AlignError(std::initializer_list<float> roi, int64_t image) {
  const std::vector<Tensor> inputs = {Filled({DType::kFloat32, {2, 1, 4, 4}}, 1, false),
                                      Tensor::Of<float>({1, 4}, roi),
                                      Tensor::Of<int64_t>({1}, {image})};
  const std::string graph = "(float[1, 1, 1, 1] y) { y = RoiAlign (a, b, c) }";
  EXPECT_EQ(RunOn("cpu", graph, inputs).status().code(), absl::StatusCode::kInvalidArgument);
  return RunOn("cuda", graph, inputs).status();
}

TEST(EmulatedRoiAlign, FindsRegionsThatHaveNoImageOrNoEnd) {
  for (const int64_t image : {-1, 2}) {
    const absl::Status status = AlignError({0, 0, 1, 1}, image);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find(
                  absl::StrCat("index ", image, " at position 0 is out of range for an axis of")),
              std::string::npos)
        << status;
  }
  const absl::Status status = AlignError({0, 0, 1, 1e6f}, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(EmulatedMaxRoiPool, IsTheCpus) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CaseDraw draw(seed);
    const DType dtype = draw.Of(kFloats);
    const Dims x = {draw.From(1, 3), draw.From(1, 4), draw.From(0, 9), draw.From(1, 9)};
    const int64_t count = draw.From(0, 5), height = draw.From(1, 4), width = draw.From(1, 4);
    Tensor rois = draw.Floats(dtype, {count, 5}, -3, 22);
    DispatchDType(FloatTypes(), dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i)
        rois.mutable_data<T>()[5 * i] = static_cast<T>(static_cast<float>(draw.From(0, x[0] - 1)));
    });
    ExpectAsCpu(absl::StrCat("(", TextOf({dtype, {count, x[1], height, width}}),
                             " y) { y = MaxRoiPool <pooled_shape = [", height, ", ", width,
                             "], spatial_scale = 0.5> (a, b) }"),
                {Filled({dtype, x}, seed, seed % 7 == 0), rois}, 0);
  }
}

TEST(EmulatedMaxRoiPool, FindsImagesOutOfRange) {
  const Tensor x = Filled({DType::kFloat32, {2, 1, 4, 4}}, 1, false);
  const std::string graph =
      "(float[1, 1, 1, 1] y) { y = MaxRoiPool <pooled_shape = [1, 1]> (a, b) }";
  for (const float image : {-1.0f, 2.0f, std::nanf(""), 1e30f}) {
    const std::vector<Tensor> inputs = {x, Tensor::Of<float>({1, 5}, {image, 0, 0, 1, 1})};
    for (const char* provider : {"cpu", "cuda"}) {
      const absl::Status status = RunOn(provider, graph, inputs).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << image << status;
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
