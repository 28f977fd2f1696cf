// Resize by every mode and rule, along one to three axes.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct ResizeCase {
  Dims x;
  const char* sizes;
  Dims y;
};

const std::vector<ResizeCase>& Cases() {
  static const std::vector<ResizeCase> kCases = {
      {{1, 2, 4, 5}, "1, 2, 8, 10", {1, 2, 8, 10}},
      {{2, 3, 7, 6}, "2, 3, 3, 4", {2, 3, 3, 4}},
      {{1, 2, 5}, "1, 2, 9", {1, 2, 9}},
      {{1, 1, 3, 4, 5}, "1, 1, 6, 5, 3", {1, 1, 6, 5, 3}},
      {{3, 4, 2}, "5, 4, 2", {5, 4, 2}},
      {{1, 2, 3, 3}, "1, 2, 3, 3", {1, 2, 3, 3}},
      {{1, 1, 1, 6}, "1, 1, 4, 1", {1, 1, 4, 1}},
  };
  return kCases;
}

void ExpectResize(const std::string& attributes, DType dtype, const ResizeCase& one,
                  double tolerance) {
  ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}), " y) { s = Constant <value_ints = [",
                           one.sizes, "]> () y = Resize <", attributes, "> (a, , , s) }"),
              {Filled({dtype, one.x}, 1, false)}, tolerance);
}

TEST(EmulatedResize, NearestIsTheCpus) {
  for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                  "half_pixel_symmetric"}) {
    for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      for (const ResizeCase& one : Cases()) {
        const std::string attributes =
            absl::StrCat("mode = \"nearest\", coordinate_transformation_mode = \"", coordinates,
                         "\", nearest_mode = \"", nearest, "\"");
        for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUint8, DType::kInt64})
          ExpectResize(attributes, dtype, one, 0);
      }
    }
  }
}

TEST(EmulatedResize, InterpolationIsTheCpus) {
  for (const char* mode :
       {"mode = \"linear\"", "mode = \"cubic\"", "mode = \"cubic\", exclude_outside = 1",
        "mode = \"linear\", antialias = 1",
        "mode = \"cubic\", antialias = 1, cubic_coeff_a = -0.5"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
      for (const ResizeCase& one : Cases()) {
        for (const DType dtype :
             {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
          ExpectResize(
              absl::StrCat(mode, ", coordinate_transformation_mode = \"", coordinates, "\""), dtype,
              one, 10 * ToleranceOf(dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
