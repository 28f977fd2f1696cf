// onward predict: a row of every output for every example.
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;

class PredictTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder builder("model");
    const Expr x = builder.Input("x", DType::kFloat32, {"batch", 2});
    builder.Output("twice", x + x);
    builder.Output("sum", ReduceSum(x, {1}, false));
    ASSERT_TRUE(ExportFile(*builder.Build(), directory_.path("model.onnx")).ok());
    std::string lines = "a,b\n";
    for (int i = 0; i < 7; ++i) absl::StrAppend(&lines, i, ",", 10 * i, "\n");
    directory_.Write("x.csv", lines);
  }
  // Returns what `onward predict MODEL --data DATA` prints, on stdout and stderr.
  std::string Predict(const std::string& model, const std::string& data, int code = 0) {
    const int status = std::system(
        absl::StrCat("cd ", directory_.path(), " && ", ONWARD_PROGRAM, " predict ", model,
                     " --data '", data, "' --output-dir out --batch-size 3 --json >log 2>&1")
            .c_str());
    std::ifstream file(directory_.path("log"));
    const std::string log(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code) << log;
    return log;
  }

  testing::ScratchDirectory directory_;
};

constexpr char kData[] = R"(csv { path: "x.csv" field { name: "x" column: "a" column: "b" } })";

TEST_F(PredictTest, WritesARowForEachExample) {
  const auto document = nlohmann::json::parse(Predict("model.onnx", kData));
  EXPECT_EQ(document["examples"], 7);
  const auto twice = files::ReadNpy(directory_.path("out/twice.npy"));
  ASSERT_TRUE(twice.ok()) << twice.status();
  ASSERT_EQ(twice->dims(), DimsView(Dims{7, 2}));
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(twice->data<float>()[2 * i], 2 * i);
    EXPECT_EQ(twice->data<float>()[2 * i + 1], 20 * i);
  }
  const auto sum = files::ReadNpy(directory_.path("out/sum.npy"));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_TRUE(SameBits(*sum, Tensor::Of<float>({7}, {0, 11, 22, 33, 44, 55, 66})));
}

TEST_F(PredictTest, SaysWhatDoesNotFit) {
  EXPECT_THAT(
      Predict("model.onnx", "csv { path: \"x.csv\" field { name: \"y\" column: \"a\" } }", 1),
      HasSubstr("y"));
  EXPECT_THAT(Predict("model.onnx", "csv { pat: \"x.csv\" }", 1), HasSubstr("--data:"));
  GraphBuilder builder("mean");
  const Expr x = builder.Input("x", DType::kFloat32, {"batch", "length"});
  builder.Output("mean", ReduceMean(x, {0, 1}, false));
  ASSERT_TRUE(ExportFile(*builder.Build(), directory_.path("mean.onnx")).ok());
  EXPECT_THAT(Predict("mean.onnx", kData, 1), HasSubstr("no row for each of them"));
  // Lists of other lengths in the second batch.
  GraphBuilder lists("lists");
  const Expr list = lists.Input("x", DType::kFloat32, {"batch", "length"});
  lists.Output("same", list + list);
  ASSERT_TRUE(ExportFile(*lists.Build(), directory_.path("lists.onnx")).ok());
  directory_.Write("x.jsonl", "{\"x\": [1]}\n{\"x\": [1]}\n{\"x\": [2]}\n{\"x\": [2, 3]}\n");
  EXPECT_THAT(Predict("lists.onnx", R"(jsonl { path: "x.jsonl" field { name: "x" dim: -1 } })", 1),
              HasSubstr("rows of one size"));
}

}  // namespace
}  // namespace onward
