// onward compare: a model against another one, and against stored outputs.
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

class CompareTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& graph) {
    auto model = testing::ModelFromText(graph);
    EXPECT_TRUE(model.ok()) << model.status();
    const std::string path = directory_.path(name);
    EXPECT_TRUE(ExportFile(*model, path).ok());
    return path;
  }
  std::string Times(const std::string& name, const std::string& factor) {
    return Write(name, absl::StrCat("g (float[n, 2] x) => (float[n, 2] y) <float f = {", factor,
                                    "}> { y = Mul (x, f) }"));
  }
  int Call(const std::string& arguments) {
    const std::string log = directory_.path("log");
    const int status =
        std::system(absl::StrCat(ONWARD_PROGRAM, " ", arguments, " >", log, " 2>&1").c_str());
    std::ifstream file(log);
    log_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  testing::ScratchDirectory directory_;
  std::string log_;
};

TEST_F(CompareTest, TwoModelsOnTheSameInputs) {
  const std::string a = Times("a.onnx", "3.0"), b = Times("b.onnx", "3.0001");
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", b, " --random --shape x=5x2")), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("y: max error "));
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", b, " --input x=1,2 --shape x=1x2 --rtol 1e-6")),
            1);
  EXPECT_THAT(log_, HasSubstr("2 of 2 beyond the tolerance"));
  EXPECT_THAT(log_, HasSubstr("at [0,1]: 6, reference 6.0002"));
  EXPECT_THAT(log_, HasSubstr(absl::StrCat("error: the outputs are not those of ", b)));
}

TEST_F(CompareTest, OtherNamesMatchByPlace) {
  const std::string a = Times("a.onnx", "3.0");
  const std::string b = Write(
      "b.onnx", "g (float[n, 2] in) => (float[n, 2] out) <float f = {4.0}> { out = Mul (in, f) }");
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", b, " --input x=1,2 --shape x=1x2 --json")), 1);
  const auto document = nlohmann::json::parse(
      log_.substr(log_.find('{'), log_.rfind('}') + 1 - log_.find('{')), nullptr, false);
  EXPECT_EQ(document["within"], false);
  EXPECT_EQ(document["outputs"][0]["name"], "y");
  EXPECT_EQ(document["outputs"][0]["max_error"], 2);
  const std::string two = Write("two.onnx",
                                "g (float[n, 2] x, float[n, 2] z) => (float[n, 2] y) "
                                "{ y = Mul (x, z) }");
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", two, " --random")), 1);
  EXPECT_THAT(log_, HasSubstr("input 'z' is in one of the models only; the other has x"));
}

TEST_F(CompareTest, StoredOutputs) {
  const std::string a = Times("a.onnx", "3.0"), b = Times("b.onnx", "3.5");
  const std::string stored = directory_.path("stored");
  ASSERT_EQ(Call(absl::StrCat("run ", a, " --random --output-dir ", stored)), 0) << log_;
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", stored, " --random")), 0) << log_;
  EXPECT_EQ(Call(absl::StrCat("compare ", b, " ", stored, " --random")), 1) << log_;
  std::filesystem::remove(absl::StrCat(stored, "/y.npy"));
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", stored, " --random")), 1);
  EXPECT_THAT(log_, HasSubstr("y.npy"));
}

TEST_F(CompareTest, WithoutAReferenceTheModelHasNoRewrites) {
  const std::string a = Times("a.onnx", "3.0");
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " --random --shape x=5x2 --bisect --json")), 0)
      << log_;
  const auto document = nlohmann::json::parse(log_, nullptr, false);
  EXPECT_EQ(document["within"], true) << log_;
  EXPECT_FALSE(document.contains("rewrite"));
}

TEST_F(CompareTest, MissingInputsAreNamed) {
  const std::string a = Times("a.onnx", "3.0");
  EXPECT_EQ(Call(absl::StrCat("compare ", a, " ", a)), 1);
  EXPECT_THAT(log_, HasSubstr("missing input 'x'"));
  EXPECT_EQ(Call(absl::StrCat("compare ", a)), 1);
  EXPECT_EQ(Call("compare"), 2);
}

}  // namespace
}  // namespace onward
