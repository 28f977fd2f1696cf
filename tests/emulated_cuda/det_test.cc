// Det of drawn matrices, of singular ones and of none.
#include "tests/emulated_cuda/case_draw.h"
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

void ExpectDet(const Tensor& x, double tolerance) {
  const DimsView dims = x.dims();
  const Dims y(dims.begin(), dims.end() - 2);
  ExpectAsCpu(absl::StrCat("(", TextOf({x.dtype(), y}), " y) { y = Det (a) }"), {x}, tolerance);
}

TEST(EmulatedDet, IsTheCpus) {
  const Dims shapes[] = {{1, 1},    {2, 2},    {5, 5},       {2, 3, 4, 4}, {1, 19, 19},
                         {0, 3, 3}, {4, 0, 0}, {1500, 2, 2}, {0, 0},       {3, 7, 7}};
  uint32_t seed = 0;
  for (const DType dtype : kFloats) {
    for (const Dims& dims : shapes) {
      SCOPED_TRACE(absl::StrCat("seed ", ++seed));
      ExpectDet(CaseDraw(seed).Floats(dtype, dims, -1, 1), 4 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedDet, SingularAndSpecialMatricesAreTheCpus) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  ExpectDet(Tensor::Of<float>({5, 2, 2},
                              {0, 0, 0, 0, 1, 2, 2, 4, 0, 1, 1, 0, nan, 1, 2, 3, inf, 1, 2, 3}),
            1e-6);
}

}  // namespace
}  // namespace onward::emulated_cuda
