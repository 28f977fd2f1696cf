// Expected values: numpy.linalg.det.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> MatricesRows() {
  return {
      Row("f32", "Det", {}, {Of<float>({2, 2}, {1, 2, 3, 4})}, {Of<float>({}, {-2})}),
      Row("f64", "Det", {}, {Of<double>({2, 2}, {1, 2, 3, 4})}, {Of<double>({}, {-2})}),
      Row("f16", "Det", {}, {Of<Float16>({2, 2}, {1, 2, 3, 4})}, {Of<Float16>({}, {-2})}, 1e-3,
          1e-4),
      Row("bf16", "Det", {}, {Of<BFloat16>({2, 2}, {1, 2, 3, 4})}, {Of<BFloat16>({}, {-2})}, 8e-3,
          1e-4),
      Row("batch", "Det", {},
          {Of<float>({2, 3, 3},
                     {3, -1, -2, -2, -1, -3, 1, -1, 3, 2, -1, 1, 2, -2, -2, -3, -3, -1})},
          {Of<float>({2}, {-27, -28})}, 1e-5, 1e-5),
      Row("singular", "Det", {}, {Of<float>({2, 2}, {1, 2, 2, 4})}, {Of<float>({}, {0})}),
      Row("pivot", "Det", {}, {Of<float>({2, 2}, {0, 1, 1, 0})}, {Of<float>({}, {-1})}),
      Row("size_0", "Det", {}, {Of<float>({0, 0}, {})}, {Of<float>({}, {1})}),
      Row("empty", "Det", {}, {Of<float>({0, 2, 2}, {})}, {Of<float>({0}, {})}),
  };
}

}  // namespace

std::vector<OpCase> DetCases() { return Join({MatricesRows}); }

}  // namespace onward::cases
