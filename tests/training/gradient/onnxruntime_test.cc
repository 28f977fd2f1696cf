// Differentiated graphs are graphs of the standard: ONNX Runtime runs them, to the same numbers.
#include "tests/support/onnxruntime.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/case_file.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"

namespace onward::training {
namespace {

using testing::GradientCase;

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/gradient/cases");
constexpr double kRtol = 2e-4;  // in float, or the case's

class GradientInOnnxRuntime : public ::testing::TestWithParam<std::string> {};

Session::Inputs InputsOf(const GradientCase& c, const Graph& graph) {
  Session::Inputs inputs;
  for (const ValueId id : graph.inputs()) {
    const Tensor& array = c.arrays.at(graph.value(id).name);
    inputs[graph.value(id).name] =
        array.dtype() == DType::kFloat64 ? testing::ToFloat(array, DType::kFloat32) : array;
  }
  return inputs;
}

// The first output that is not what is expected, in words.
std::string Difference(const GradientCase& c, const Session::Outputs& outputs) {
  for (const auto& [name, value] : outputs) {
    if (!IsFloating(value.tensor().dtype())) continue;
    const Tensor expected = testing::ToFloat(c.arrays.at(name), DType::kFloat64);
    double largest = 1e-3;
    for (const double element : expected.span<double>()) {
      if (std::isfinite(element)) largest = std::max(largest, std::fabs(element));
    }
    const double rtol = std::max(kRtol, c.rtol);
    const std::string difference = testing::Difference(
        testing::ToFloat(value.tensor(), DType::kFloat64), expected, rtol, rtol * largest);
    if (!difference.empty()) return absl::StrCat(name, ": ", difference);
  }
  return "";
}

// Cases whose own op it does not run in float, or runs to other numbers, are left out.
TEST_P(GradientInOnnxRuntime, IsTheSame) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  const auto cases = testing::GradientCases(kFolder, GetParam());
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::vector<testing::OnnxRuntimeCall> calls;
  std::vector<const GradientCase*> ran;
  for (const GradientCase& c : *cases) {
    if (!c.floats) continue;
    auto forward = testing::ForwardModel(c, {DType::kFloat32});
    auto gradient = testing::DifferentiatedModel(c, {DType::kFloat32});
    if (!forward.ok()) continue;
    ASSERT_TRUE(gradient.ok()) << c.name << " " << gradient.status();
    const Session::Inputs inputs = InputsOf(c, forward->graph);
    calls.push_back({*std::move(forward), inputs});
    calls.push_back({*std::move(gradient), inputs});
    ran.push_back(&c);
  }
  const auto results = testing::RunInOnnxRuntime(calls);
  size_t same = 0;
  for (size_t i = 0; i < ran.size(); ++i) {
    SCOPED_TRACE(absl::StrCat(ran[i]->family, "/", ran[i]->name));
    if (!results[2 * i].ok() || !Difference(*ran[i], *results[2 * i]).empty()) continue;
    EXPECT_TRUE(results[2 * i + 1].ok()) << results[2 * i + 1].status();
    if (!results[2 * i + 1].ok()) continue;
    EXPECT_EQ(Difference(*ran[i], *results[2 * i + 1]), "");
    ++same;
  }
  RecordProperty("same", static_cast<int>(same));
  EXPECT_GT(2 * same, ran.size());
}

INSTANTIATE_TEST_SUITE_P(Families, GradientInOnnxRuntime,
                         ::testing::ValuesIn(testing::CaseFamilies(kFolder)),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onward::training
