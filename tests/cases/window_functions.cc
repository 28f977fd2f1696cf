// Expected values: the formulas with NumPy; Mel matrices from the reference evaluator of onnx 1.23.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

std::vector<OpCase> WindowsRows() {
  return {
      Row("hannwindow_0", "HannWindow", {{"periodic", int64_t{0}}}, {Of<int32_t>({}, {6})},
          {Of<float>({6}, {0, 0.3454915, 0.9045085, 0.9045085, 0.3454915, 0})}),
      Row("hannwindow_1", "HannWindow", {{"periodic", int64_t{1}}}, {Of<int64_t>({}, {6})},
          {Of<float>({6}, {0, 0.25, 0.75, 1, 0.75, 0.25})}),
      Row("hannwindow_zero", "HannWindow", {}, {Of<int64_t>({}, {0})}, {Of<float>({0}, {})}),
      Row("hannwindow_one", "HannWindow", {{"periodic", int64_t{0}}}, {Of<int64_t>({}, {1})},
          {Of<float>({1}, {1})}),
      Row("hannwindow_double", "HannWindow", {{"output_datatype", int64_t{11}}},
          {Of<int64_t>({}, {6})},
          {Of<double>({6}, {0, 0.24999999999999994, 0.7499999999999999, 1, 0.7500000000000002,
                            0.24999999999999994})}),
      Row("hammingwindow_0", "HammingWindow", {{"periodic", int64_t{0}}}, {Of<int32_t>({}, {6})},
          {Of<float>({6}, {0.08695652, 0.4024053, 0.9128121, 0.9128121, 0.4024053, 0.08695652})}),
      Row("hammingwindow_1", "HammingWindow", {{"periodic", int64_t{1}}}, {Of<int64_t>({}, {6})},
          {Of<float>({6}, {0.08695652, 0.3152174, 0.7717391, 1, 0.7717391, 0.3152174})}),
      Row("hammingwindow_zero", "HammingWindow", {}, {Of<int64_t>({}, {0})}, {Of<float>({0}, {})}),
      Row("hammingwindow_one", "HammingWindow", {{"periodic", int64_t{0}}}, {Of<int64_t>({}, {1})},
          {Of<float>({1}, {1})}),
      Row("hammingwindow_double", "HammingWindow", {{"output_datatype", int64_t{11}}},
          {Of<int64_t>({}, {6})},
          {Of<double>({6}, {0.08695652173913043, 0.3152173913043478, 0.7717391304347825, 1,
                            0.7717391304347827, 0.3152173913043478})}),
      Row("blackmanwindow_0", "BlackmanWindow", {{"periodic", int64_t{0}}}, {Of<int32_t>({}, {6})},
          {Of<float>({6}, {-1.3877788e-17, 0.20077014, 0.8492299, 0.8492299, 0.20077014,
                           -1.3877788e-17})}),
      Row("blackmanwindow_1", "BlackmanWindow", {{"periodic", int64_t{1}}}, {Of<int64_t>({}, {6})},
          {Of<float>({6}, {-1.3877788e-17, 0.13, 0.63, 1, 0.63, 0.13})}),
      Row("blackmanwindow_zero", "BlackmanWindow", {}, {Of<int64_t>({}, {0})},
          {Of<float>({0}, {})}),
      Row("blackmanwindow_one", "BlackmanWindow", {{"periodic", int64_t{0}}},
          {Of<int64_t>({}, {1})}, {Of<float>({1}, {1})}),
      Row("blackmanwindow_double", "BlackmanWindow", {{"output_datatype", int64_t{11}}},
          {Of<int64_t>({}, {6})},
          {Of<double>({6}, {-1.3877787807814457e-17, 0.12999999999999995, 0.6299999999999999,
                            0.9999999999999999, 0.6300000000000002, 0.12999999999999995})}),
      Row("hann_float16", "HannWindow", {{"output_datatype", int64_t{10}}}, {Of<int64_t>({}, {4})},
          {Of<Float16>({4}, {0, 0.5, 1, 0.5})}, 1e-3, 1e-4),
  };
}

std::vector<OpCase> MelRows() {
  return {
      Row("mel_0", "MelWeightMatrix", {},
          {Of<int64_t>({}, {8}), Of<int64_t>({}, {16}), Of<int64_t>({}, {8192}), Of<float>({}, {0}),
           Of<float>({}, {4096})},
          {Of<float>({9, 8},
                     {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                      0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})}),
      Row("mel_1", "MelWeightMatrix", {},
          {Of<int64_t>({}, {4}), Of<int64_t>({}, {32}), Of<int64_t>({}, {16000}),
           Of<float>({}, {125}), Of<float>({}, {7600})},
          {Of<float>(
              {17, 4},
              {0, 0, 0, 0,    1,         0,          0, 0,   0,          1,         0, 0,    0, 0,
               1, 0, 0, 0,    0.6666667, 0.33333334, 0, 0,   0.33333334, 0.6666667, 0, 0,    0, 1,
               0, 0, 0, 0.75, 0,         0,          0, 0.5, 0,          0,         0, 0.25, 0, 0,
               0, 0, 0, 0,    0,         0,          0, 0,   0,          0,         0, 0,    0, 0,
               0, 0, 0, 0,    0,         0,          0, 0,   0,          0,         0, 0})}),
      Row("mel_2", "MelWeightMatrix", {},
          {Of<int64_t>({}, {2}), Of<int64_t>({}, {8}), Of<int64_t>({}, {8000}), Of<float>({}, {0}),
           Of<float>({}, {4000})},
          {Of<float>({5, 2}, {1, 0, 0, 1, 0, 0, 0, 0, 0, 0})}),
  };
}

}  // namespace

std::vector<OpCase> WindowFunctionsCases() { return Join({WindowsRows, MelRows}); }

}  // namespace onward::cases
