// The ops of com.microsoft against what ONNX Runtime returns: the cases that make_cases.py makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/npy.h"
#include "graph/ir/graph_edit.h"
#include "onward/session.h"
#include "tests/support/case_file.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(ONWARD_SOURCE_DIR) / "tests/microsoft/cases";

// Tolerances of float32 and of 16-bit floats; integers are exact.
constexpr double kRtol = 1e-4, kAtol = 1e-5;
constexpr double kRtol16 = 5e-3, kAtol16 = 2e-3;

struct MicrosoftCase {
  testing::CaseText text;
  std::vector<std::string> constants;  // inputs that may be constants
  int units = 0;                       // by which integers may differ
};

std::vector<MicrosoftCase> CasesOf(const std::string& family) {
  std::vector<MicrosoftCase> cases;
  for (testing::CaseText& text : testing::ReadCaseFile(kCases / (family + ".txt"))) {
    MicrosoftCase c;
    for (const auto& [key, value] : text.notes) {
      if (key == "constants") c.constants = absl::StrSplit(value, ' ');
      if (key == "units") c.units = std::stoi(value);
    }
    c.text = std::move(text);
    cases.push_back(std::move(c));
  }
  return cases;
}

// Integers as floats, for a comparison that allows some units.
Tensor AsFloat(const Tensor& integers) {
  Tensor floats(DType::kFloat32, Dims(integers.dims().begin(), integers.dims().end()));
  DispatchDType(TypeList<int8_t, uint8_t, int32_t>(), integers.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < integers.num_elements(); ++i)
      floats.mutable_data<float>()[i] = static_cast<float>(integers.data<T>()[i]);
  });
  return floats;
}

std::string Difference(const Tensor& actual, const Tensor& expected, int units) {
  if (units > 0) {
    if (actual.dtype() != expected.dtype()) return "the dtypes differ";
    return testing::Difference(AsFloat(actual), AsFloat(expected), 0, units);
  }
  const bool narrow = actual.dtype() == DType::kFloat16 || actual.dtype() == DType::kBFloat16;
  return testing::Difference(actual, expected, narrow ? kRtol16 : kRtol, narrow ? kAtol16 : kAtol);
}

void MakeConstant(Graph& graph, const std::string& name, const Tensor& data) {
  const ValueId id = graph.FindValue(name);
  ASSERT_TRUE(id.valid()) << name;
  GraphEdit(graph).RemoveInput(id);
  GraphEdit(graph).constant(id) = data;
}

enum class Weights { kInputs, kConstants };

void RunCase(const MicrosoftCase& c, const std::map<std::string, Tensor>& arrays,
             const SessionOptions& options, Weights weights) {
  absl::StatusOr<Model> model = testing::ModelFromText(c.text.graph);
  ASSERT_TRUE(model.ok()) << model.status();
  if (weights == Weights::kConstants) {
    for (const std::string& name : c.constants)
      MakeConstant(model->graph, name, arrays.at(absl::StrCat(c.text.name, "/", name)));
  }
  auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  Session::Inputs inputs;
  for (const ValueInfo& input : (*session)->inputs()) {
    const auto array = arrays.find(absl::StrCat(c.text.name, "/", input.name));
    ASSERT_NE(array, arrays.end()) << input.name;
    inputs[input.name] = array->second;
  }
  const auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const ValueInfo& output : (*session)->outputs()) {
    const auto expected = arrays.find(absl::StrCat(c.text.name, "/", output.name));
    ASSERT_NE(expected, arrays.end()) << output.name;
    EXPECT_EQ(Difference(outputs->at(output.name).tensor(), expected->second, c.units), "")
        << output.name;
  }
}

class Microsoft : public ::testing::TestWithParam<std::string> {};

TEST_P(Microsoft, AnswersWhatOnnxRuntimeAnswers) {
  const auto arrays = files::ReadNpz((kCases / (GetParam() + ".npz")).string());
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const std::vector<MicrosoftCase> cases = CasesOf(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const MicrosoftCase& c : cases) {
    for (const bool optimized : {true, false}) {
      for (const Weights weights : {Weights::kInputs, Weights::kConstants}) {
        if (weights == Weights::kConstants && c.constants.empty()) continue;
        SCOPED_TRACE(absl::StrCat(GetParam(), "/", c.text.name, optimized ? "" : " unoptimized",
                                  weights == Weights::kConstants ? " with constants" : ""));
        SessionOptions options;
        options.num_threads = 2;
        options.optimize = optimized;
        options.reference_kernels = !optimized;
        RunCase(c, *arrays, options, weights);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Microsoft, ::testing::ValuesIn(testing::CaseFamilies(kCases)),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onward
