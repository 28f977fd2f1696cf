// onward inspect --parameters: what a model has to train.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/builder/models/models.h"
#include "graph/builder/nn/parameters.h"
#include "gtest/gtest.h"
#include "onnx_io/export.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

std::string Output(const testing::ScratchDirectory& directory, const std::string& arguments) {
  const std::string log = directory.path("log");
  const int status =
      std::system(absl::StrCat(ONWARD_PROGRAM, " inspect ", arguments, " >", log, " 2>&1").c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  std::ifstream file(log);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What modules and Freeze say of parameters is in the file.
TEST(InspectCommand, ListsParameters) {
  const testing::ScratchDirectory directory;
  auto model = BuildModel("resnet_cifar", {{"width", 2}, {"size", 8}});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(nn::Freeze(*model, {"conv1.*"}).ok());
  const std::string path = directory.path("model.onnx");
  ASSERT_TRUE(ExportFile(*model, path).ok());
  const std::string text = Output(directory, path + " --parameters");
  EXPECT_THAT(text,
              ::testing::ContainsRegex("conv1.weight +float32.2,3,3,3. +54  frozen +kaiming"));
  EXPECT_THAT(text, ::testing::ContainsRegex("bn1.running_mean +float32.2. +2  buffer"));
  EXPECT_THAT(text, ::testing::ContainsRegex("fc.bias +float32.10. +10  yes +uniform"));
  const auto document = nlohmann::json::parse(Output(directory, path + " --parameters --json"));
  const auto& list = document["parameter_list"];
  EXPECT_EQ(list.size(), nn::Parameters(*model).size());
  EXPECT_EQ(list[0]["name"], "conv1.weight");
  EXPECT_EQ(list[0]["trainable"], false);
  EXPECT_EQ(list[0]["reason"], "frozen");
}

}  // namespace
}  // namespace onward
