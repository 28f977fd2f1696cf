// Steps of optimizers on the emulated device are the CPU's, which fused_steps_test and
// optimizers_test hold to the formulas and to PyTorch.
#include <string>
#include <vector>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

struct StepCase {
  const char* op;
  const char* attributes;
  std::vector<double> settings;
  int states;
  bool has_product = false;  // of NAdam: one more state, a scalar
};

const StepCase kSteps[] = {
    {"AdadeltaStep", "", {1.0, 0.9, 1e-6, 0.1}, 2},
    {"AdagradStep", "<maximize = 1>", {0.1, 0.01, 1e-10, 0.1}, 1},
    {"AdamStep", "", {0.01, 0.9, 0.999, 1e-8, 0.1}, 2},
    {"AdamStep", "", {0.01, 0.9, 0.999, 1e-8, 0.1}, 3},
    {"AdamStep", "<decoupled = 1>", {0.01, 0.9, 0.999, 1e-8, 0.1}, 2},
    {"AdamStep", "<decoupled = 1, maximize = 1>", {0.01, 0.9, 0.999, 1e-8, 0.1}, 3},
    {"LionStep", "", {0.01, 0.9, 0.99, 0.1}, 1},
    {"NAdamStep", "", {0.01, 0.9, 0.999, 1e-8, 0.1, 0.004}, 2, true},
    {"NAdamStep", "<decoupled = 1>", {0.01, 0.9, 0.999, 1e-8, 0.1, 0.004}, 2, true},
    {"RAdamStep", "", {0.01, 0.9, 0.999, 1e-8, 0.1}, 2},
    {"RAdamStep", "<decoupled = 1>", {0.01, 0.9, 0.999, 1e-8, 0.1}, 2},
    {"RMSpropStep", "", {0.01, 0.9, 1e-8, 0.1, 0.8}, 1},
    {"RMSpropStep", "", {0.01, 0.9, 1e-8, 0.1, 0.8}, 2},
    {"RMSpropStep", "", {0.01, 0.9, 1e-8, 0.1, 0.8}, 3},
    {"SgdStep", "", {0.1, 0, 0, 0.1}, 0},
    {"SgdStep", "", {0.1, 0.9, 0.2, 0.1}, 1},
    {"SgdStep", "<nesterov = 1>", {0.1, 0.9, 0, 0.1}, 1},
};

// Second moments and the like, which have roots.
Tensor Positive(Tensor tensor) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (tensor.dtype() == DType::kFloat64) {
      tensor.mutable_data<double>()[i] = 9 + std::abs(tensor.data<double>()[i]);
    } else {
      tensor.mutable_data<float>()[i] = 9 + std::abs(tensor.data<float>()[i]);
    }
  }
  return tensor;
}

void CompareStep(const StepCase& step, DType dtype, const Dims& dims, int64_t number) {
  const std::string type = TextOf({dtype, dims});
  std::string outputs = type + " p", results = "p", reads = "a, b, c, d";
  std::vector<Tensor> inputs = {
      Filled({dtype, dims}, 1, false), Filled({dtype, dims}, 2, false),
      Tensor(DType::kFloat64, {static_cast<int64_t>(step.settings.size())}),
      Tensor::Of<int64_t>({}, {number})};
  std::copy(step.settings.begin(), step.settings.end(), inputs[2].mutable_data<double>());
  for (int i = 0; i < step.states; ++i) {
    inputs.push_back(Positive(Filled({dtype, dims}, 3 + static_cast<uint32_t>(i), false)));
    absl::StrAppend(&outputs, ", ", type, " s", i);
    absl::StrAppend(&results, ", s", i);
  }
  if (step.has_product) {
    inputs.push_back(Tensor::Of<double>({}, {0.7}));
    absl::StrAppend(&outputs, ", double[] product");
    absl::StrAppend(&results, ", product");
  }
  for (size_t i = 4; i < inputs.size(); ++i)
    absl::StrAppend(&reads, ", ", std::string(1, static_cast<char>('a' + i)));
  ExpectAsCpu(absl::StrCat("(", outputs, ") { ", results, " = onward.", step.op, " ",
                           step.attributes, " (", reads, ") }"),
              inputs, dtype == DType::kFloat64 ? 1e-12 : 1e-5);
}

TEST(DeviceOptimizerSteps, AreTheCpus) {
  for (const StepCase& step : kSteps)
    for (const DType dtype : {DType::kFloat32, DType::kFloat64})
      for (const Dims& dims : {Dims{}, Dims{7}, Dims{3, 4, 5}, Dims{2051}})
        for (const int64_t number : {1, 12}) CompareStep(step, dtype, dims, number);
}

TEST(DeviceOptimizerSteps, OfNothingCountTheProduct) {
  CompareStep({"NAdamStep", "", {0.01, 0.9, 0.999, 1e-8, 0.1, 0.004}, 2, true}, DType::kFloat32,
              {0, 3}, 2);
}

}  // namespace
}  // namespace onward::emulated_cuda
