// Repositories as Triton's users have them, directories of files, versions and labels.
#include "serving/repository/model_directory.h"

#include <filesystem>

#include "serving/repository/config_text.h"
#include "tests/serving/repository_fixture.h"

namespace onward::serving {
namespace {

using onward::testing::ModelBytes;
using onward::testing::Times;
using ::testing::HasSubstr;
using ::testing::Pair;

class ModelDirectoryTest : public onward::testing::RepositoryTest {
 protected:
  std::string StartError() { return std::string(Start({{"", directory_.path()}}).message()); }
};

TEST_F(ModelDirectoryTest, ARepositoryHasModelsWithVersions) {
  directory_.Write("one/3/model.onnx", Times(3));
  directory_.Write("one/12/model.onnx", Times(12));
  directory_.Write("one/notes/model.onnx", "no version");
  directory_.Write("all/config.pbtxt", "version_policy { all { } }");
  directory_.Write("all/1/model.onnx", Times(1));
  directory_.Write("all/2/model.onnx", Times(2));
  directory_.Write("two/config.pbtxt", "version_policy: { latest: { num_versions: 2 } }");
  for (const int version : {1, 2, 3})
    directory_.Write(absl::StrCat("two/", version, "/model.onnx"), Times(version));
  directory_.Write("chosen/config.pbtxt",
                   "version_policy: { specific: { versions: [1, 3] } }\n"
                   "default_model_filename: \"net.onnx\"");
  for (const int version : {1, 2, 3})
    directory_.Write(absl::StrCat("chosen/", version, "/net.onnx"), Times(version));
  directory_.Write("plain.onnx", Times(9));
  directory_.Write("empty/README", "");
  StartDirectory();
  EXPECT_EQ(Get("/v2/models")["models"], json({"all", "chosen", "one", "plain", "two"}));
  EXPECT_EQ(Get("/v2/models/one")["versions"], json({"12"}));  // 12 is above 3
  EXPECT_THAT(Infer("/v2/models/one"), Pair(12, "12"));
  EXPECT_EQ(Get("/v2/models/all")["versions"], json({"1", "2"}));
  EXPECT_THAT(Infer("/v2/models/all"), Pair(2, "2"));
  EXPECT_THAT(Infer("/v2/models/all/versions/1"), Pair(1, "1"));
  EXPECT_EQ(Get("/v2/models/two")["versions"], json({"2", "3"}));
  EXPECT_EQ(Get("/v2/models/chosen")["versions"], json({"1", "3"}));
  EXPECT_THAT(Infer("/v2/models/plain"), Pair(9, "1"));
  EXPECT_THAT(Log(), HasSubstr("empty"));
}

TEST_F(ModelDirectoryTest, OneModelsDirectoryAndFilesWithNames) {
  directory_.Write("net/1/model.onnx", Times(2));
  directory_.Write("flat/model.onnx", Times(3));
  const std::string file = directory_.Write("f.onnx", Times(4));
  const absl::Status status =
      Start({{"", directory_.path("net")}, {"x", directory_.path("flat")}, {"y", file}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get("/v2/models")["models"], json({"net", "x", "y"}));
  EXPECT_THAT(Infer("/v2/models/x"), Pair(3, "1"));
}

TEST_F(ModelDirectoryTest, WhatIsMissingIsSaid) {
  EXPECT_THAT(StartError(), HasSubstr("has no models"));
  directory_.Write("m/config.pbtxt", "");
  EXPECT_THAT(StartError(),
              HasSubstr("model 'm': the model's directory has no VERSION/model.onnx"));
  directory_.Write("m/config.pbtxt", "version_policy { specific { versions: 4 } }");
  directory_.Write("m/1/model.onnx", Times(2));
  EXPECT_THAT(StartError(), HasSubstr("version_policy: version 4 has no model.onnx"));
  directory_.Write("m/config.pbtxt", "default_model_filename: \"../../secret\"");
  EXPECT_THAT(StartError(), HasSubstr("'../../secret' is not the name of a file"));
  directory_.Write("m/config.pbtxt", "max_batch_size: [");
  EXPECT_THAT(StartError(), HasSubstr("config.pbtxt: line 1, column"));
}

TEST_F(ModelDirectoryTest, LabelsComeFromFilesInTheDirectory) {
  directory_.Write("m/config.pbtxt", R"(output { name: "y" label_filename: "names/labels.txt" })");
  directory_.Write("m/1/model.onnx", Times(2));
  directory_.Write("m/names/labels.txt", "cat\r\ndog\n");
  StartDirectory();
  const auto models = server_->ready_models();
  ASSERT_EQ(models.size(), 1);
  ASSERT_NE(models[0]->labels("y"), nullptr);
  EXPECT_EQ(*models[0]->labels("y"), std::vector<std::string>({"cat", "dog"}));
  EXPECT_EQ(models[0]->labels("x"), nullptr);

  directory_.Write("secret", "key");
  std::filesystem::create_symlink("../secret", directory_.path("m/link"));
  for (const char* name : {"../secret", "/etc/passwd", "link", "missing", "names", "a//b", "."}) {
    directory_.Write("m/config.pbtxt",
                     absl::StrCat("output { name: \"y\" label_filename: \"", name, "\" }"));
    EXPECT_THAT(std::string(Start({{"", directory_.path("m")}}).message()),
                HasSubstr("label_filename: "))
        << name;
  }
}

TEST_F(ModelDirectoryTest, ClassesOfTheModelAreLabels) {
  onnx::ModelProto model = onward::testing::ProtoFromText(
      R"(<ir_version: 10, opset_import: ["" : 21]> g (float[n, 2] x) => (float[n, 2] y)
         { y = Neg(x) })");
  onnx::StringStringEntryProto* note = model.add_metadata_props();
  note->set_key("onward.classes");
  note->set_value(R"({"output":"y","names":["no","yes"]})");
  directory_.Write("m.onnx", model.SerializeAsString());
  StartDirectory();
  ASSERT_NE(server_->ready_models()[0]->labels("y"), nullptr);
  EXPECT_EQ(server_->ready_models()[0]->labels("y")->at(1), "yes");
}

TEST_F(ModelDirectoryTest, WarmUpRunsBeforeTheModelIsReady) {
  const auto config = [](const std::string& input) {
    return absl::StrCat("max_batch_size: 4 model_warmup { name: \"w\" batch_size: 3 count: 2 ",
                        "inputs { key: \"x\" value { ", input, " } } }");
  };
  directory_.Write("m/1/model.onnx", Times(2));
  directory_.Write("m/config.pbtxt", config("data_type: TYPE_FP32 dims: 2 random_data: true"));
  StartDirectory();
  EXPECT_EQ(Infer("/v2/models/m").first, 2);
  // Warm-ups are not requests.
  EXPECT_EQ(Get("/v2/models/m/stats")["model_stats"][0]["execution_count"], 1);
  directory_.Write("m/config.pbtxt", config("data_type: TYPE_FP32 dims: 3 zero_data: true"));
  EXPECT_THAT(StartError(), HasSubstr("model_warmup 'w': "));
  directory_.Write("m/config.pbtxt", config("data_type: TYPE_FP32 dims: -1 zero_data: true"));
  EXPECT_THAT(StartError(), HasSubstr("input 'x'"));
  directory_.Write("m/config.pbtxt", config("dims: 2 zero_data: true"));
  EXPECT_THAT(StartError(), HasSubstr("data_type is missing"));
}

// A row that the model refuses shows that the warm-up ran with it.
TEST_F(ModelDirectoryTest, WarmUpTakesRowsOfFiles) {
  directory_.Write("m/1/model.onnx", onward::testing::ModelBytes(R"(
      g (int64[n, 1] x) => (float[n, 1] y)
      { table = Constant <value = float[3] {1, 2, 4}> () y = Gather(table, x) })"));
  directory_.Write("m/config.pbtxt",
                   R"(max_batch_size: 4 model_warmup { name: "w" batch_size: 3
                      inputs { key: "x" value { data_type: TYPE_INT64 dims: 1
                                                input_data_file: "row" } } })");
  EXPECT_THAT(StartError(), HasSubstr("the model's directory has no file 'warmup/row'"));
  directory_.Write("m/warmup/row", std::string("\2\0\0\0", 4));
  EXPECT_THAT(StartError(), HasSubstr("'warmup/row': expected 8 bytes"));
  directory_.Write("m/warmup/row", std::string("\7\0\0\0\0\0\0\0", 8));
  EXPECT_THAT(StartError(), AllOf(HasSubstr("model_warmup 'w': "), HasSubstr("7")));
  directory_.Write("m/warmup/row", std::string("\2\0\0\0\0\0\0\0", 8));
  StartDirectory();
}

}  // namespace
}  // namespace onward::serving
