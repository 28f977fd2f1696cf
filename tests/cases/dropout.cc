// Without training Dropout is the identity; with a seed its mask is NumPy's.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> InferenceRows() {
  return {
      Row("f32", "Dropout", {}, {Of<float>({3}, {1, -2, 3})}, {Of<float>({3}, {1, -2, 3})}),
      Row("f64", "Dropout", {}, {Of<double>({3}, {1, -2, 3})}, {Of<double>({3}, {1, -2, 3})}),
      Row("f16", "Dropout", {}, {Of<Float16>({3}, {1, -2, 3})}, {Of<Float16>({3}, {1, -2, 3})},
          1e-3, 1e-4),
      Row("bf16", "Dropout", {}, {Of<BFloat16>({3}, {1, -2, 3})}, {Of<BFloat16>({3}, {1, -2, 3})},
          8e-3, 1e-4),
      Row("e4m3", "Dropout", {}, {Of<Float8E4M3FN>({3}, {1, -2, 3})},
          {Of<Float8E4M3FN>({3}, {1, -2, 3})}),
      Row("e4m3z", "Dropout", {}, {Of<Float8E4M3FNUZ>({3}, {1, -2, 3})},
          {Of<Float8E4M3FNUZ>({3}, {1, -2, 3})}),
      Row("e5m2", "Dropout", {}, {Of<Float8E5M2>({3}, {1, -2, 3})},
          {Of<Float8E5M2>({3}, {1, -2, 3})}),
      Row("e5m2z", "Dropout", {}, {Of<Float8E5M2FNUZ>({3}, {1, -2, 3})},
          {Of<Float8E5M2FNUZ>({3}, {1, -2, 3})}),
      Row("mask", "Dropout", {}, {Of<float>({1, 2}, {1, 2}), Of<float>({}, {0.5})},
          {Of<float>({1, 2}, {1, 2}), Of<bool>({1, 2}, {true, true})}),
      Row("mode_false", "Dropout", {},
          {Of<float>({2}, {1, 2}), Of<float>({}, {0.9}), Of<bool>({}, {false})},
          {Of<float>({2}, {1, 2}), Of<bool>({2}, {true, true})}),
      Row("ratio_zero", "Dropout", {},
          {Of<float>({2}, {1, 2}), Of<float>({}, {0}), Of<bool>({}, {true})},
          {Of<float>({2}, {1, 2}), Of<bool>({2}, {true, true})}),
      Row("empty", "Dropout", {}, {Of<float>({0}, {})}, {Of<float>({0}, {})}),
  };
}

// numpy.random.RandomState(seed).uniform(0, 1, 6) >= ratio.
std::vector<OpCase> SeededRows() {
  return {
      Row("seed_0", "Dropout", {{"seed", int64_t{0}}},
          {Of<float>({6}, {1, 2, 3, 4, 5, 6}), Of<float>({}, {0.5}), Of<bool>({}, {true})},
          {Of<float>({6}, {2, 4, 6, 8, 0, 12}),
           Of<bool>({6}, {true, true, true, true, false, true})}),
      Row("seed_7", "Dropout", {{"seed", int64_t{7}}},
          {Of<Float16>({6}, {3, 6, 9, 12, 15, 18}), Of<double>({}, {0.25}), Of<bool>({}, {true})},
          {Of<Float16>({6}, {0, 8, 12, 16, 20, 24}),
           Of<bool>({6}, {false, true, true, true, true, true})}),
  };
}

}  // namespace

std::vector<OpCase> DropoutCases() { return Join({InferenceRows, SeededRows}); }

}  // namespace onward::cases
