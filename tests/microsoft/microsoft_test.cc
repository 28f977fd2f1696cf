// The ops of com.microsoft against what ONNX Runtime answers: the cases that make_cases.py makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "executors/session.h"
#include "onnx_io/npy.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(ONWARD_SOURCE_DIR) / "tests/microsoft/cases";

// Tolerances of float32 and of 16-bit floats; integers are exact.
constexpr double kRtol = 1e-4, kAtol = 1e-5;
constexpr double kRtol16 = 5e-3, kAtol16 = 2e-3;

struct TextCase {
  std::string family, name, text;
};

std::vector<std::string> Families() {
  std::vector<std::string> families;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    if (entry.path().extension() == ".txt") families.push_back(entry.path().stem().string());
  }
  return families;
}

std::vector<TextCase> CasesOf(const std::string& family) {
  std::ifstream file(kCases / (family + ".txt"));
  std::vector<TextCase> cases;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    absl::StrAppend(&text, line, "\n");
    if (line != "}") continue;
    const size_t start = text.find_first_not_of('\n');
    text = text.substr(start);
    cases.push_back({family, text.substr(0, text.find(' ')), text});
    text.clear();
  }
  return cases;
}

void RunCase(const TextCase& c, const std::map<std::string, Tensor>& arrays,
             const SessionOptions& options) {
  absl::StatusOr<Model> model = testing::ModelFromText(c.text);
  ASSERT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  Session::Inputs inputs;
  for (const ValueInfo& input : (*session)->inputs()) {
    const auto array = arrays.find(absl::StrCat(c.name, "/", input.name));
    ASSERT_NE(array, arrays.end()) << input.name;
    inputs[input.name] = array->second;
  }
  const auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const ValueInfo& output : (*session)->outputs()) {
    const auto expected = arrays.find(absl::StrCat(c.name, "/", output.name));
    ASSERT_NE(expected, arrays.end()) << output.name;
    const Tensor& tensor = outputs->at(output.name).tensor();
    const bool narrow = tensor.dtype() == DType::kFloat16 || tensor.dtype() == DType::kBFloat16;
    EXPECT_EQ(testing::Difference(tensor, expected->second, narrow ? kRtol16 : kRtol,
                                  narrow ? kAtol16 : kAtol),
              "")
        << output.name;
  }
}

class Microsoft : public ::testing::TestWithParam<std::string> {};

TEST_P(Microsoft, AnswersWhatOnnxRuntimeAnswers) {
  const auto arrays = ReadNpz((kCases / (GetParam() + ".npz")).string());
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const std::vector<TextCase> cases = CasesOf(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const TextCase& c : cases) {
    for (const bool optimized : {true, false}) {
      SCOPED_TRACE(absl::StrCat(c.family, "/", c.name, optimized ? "" : " unoptimized"));
      SessionOptions options;
      options.num_threads = 2;
      options.optimize = optimized;
      options.reference_kernels = !optimized;
      RunCase(c, *arrays, options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Microsoft, ::testing::ValuesIn(Families()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onward
