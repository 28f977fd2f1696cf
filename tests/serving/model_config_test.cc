// config.pbtxt and what GET .../config shows of it.
#include "serving/repository/config_text.h"
#include "tests/serving/repository_fixture.h"

namespace onward::serving {
namespace {

using onward::testing::ModelBytes;
using onward::testing::Times;
using ::testing::HasSubstr;

class ModelConfigTest : public onward::testing::RepositoryTest {
 protected:
  json Config(const std::string& text, const std::string& model = Times(2)) {
    directory_.Write("m/1/model.onnx", model);
    directory_.Write("m/config.pbtxt", text);
    StartDirectory();
    return Get("/v2/models/m/config");
  }
  std::string Error(const std::string& text) {
    directory_.Write("m/1/model.onnx", ModelBytes(R"(
        g (float[n, 2] x, int64[n] k, float[3, 2] fixed) => (float[n, 2] y, float[3, 2] z)
        { y = Neg(x) z = Neg(fixed) })"));
    directory_.Write("m/config.pbtxt", text);
    return std::string(Start({{"", directory_.path()}}).message());
  }
};

TEST_F(ModelConfigTest, DefaultsComeFromTheModel) {
  directory_.Write("m.onnx", ModelBytes(R"(
      g (float16[n, 2] x, string[3] s, int64 k) => (float16[n, 2] y, bool[3] same)
      { y = Neg(x) same = Equal(s, s) })"));
  StartDirectory();
  const json config = Get("/v2/models/m/config");
  EXPECT_EQ(Get("/v2/models/m/versions/1/config"), config);
  EXPECT_EQ(config["name"], "m");
  EXPECT_EQ(config["max_batch_size"], 0);
  EXPECT_EQ(config["version_policy"], json::parse(R"({"latest":{"num_versions":1}})"));
  ASSERT_EQ(config["input"].size(), 3);
  EXPECT_EQ(config["input"][0]["name"], "x");
  EXPECT_EQ(config["input"][0]["data_type"], "TYPE_FP16");
  EXPECT_EQ(config["input"][0]["dims"], json({-1, 2}));
  EXPECT_EQ(config["input"][0]["format"], "FORMAT_NONE");
  EXPECT_EQ(config["input"][0]["optional"], false);
  EXPECT_EQ(config["input"][1]["data_type"], "TYPE_STRING");
  EXPECT_EQ(config["input"][2]["data_type"], "TYPE_INT64");
  EXPECT_EQ(config["input"][2]["dims"], json::array());
  EXPECT_EQ(config["output"][1]["data_type"], "TYPE_BOOL");
  EXPECT_EQ(config["output"][1]["label_filename"], "");
  EXPECT_EQ(config["instance_group"][0]["kind"], "KIND_CPU");
  EXPECT_EQ(config["instance_group"][0]["count"], 1);
  EXPECT_FALSE(config.contains("dynamic_batching"));
  Get("/v2/models/m/versions/2/config", 404);
}

TEST_F(ModelConfigTest, WhatAFileSaysIsShown) {
  const json config = Config(R"(
      # comments are allowed
      name: "m"
      platform: "onnxruntime_onnx"
      max_batch_size: 16
      input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
      output { name: "y", data_type: TYPE_FP32, dims: 2 }
      instance_group [ { count: 2 kind: KIND_CPU } ]
      dynamic_batching {
        preferred_batch_size: [ 4, 8 ]
        max_queue_delay_microseconds: 100
        priority_levels: 2
        default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 }
        priority_queue_policy { key: 1 value { max_queue_size: 7 } }
      }
      parameters { key: "a" value { string_value: "b" } }
      response_cache { enable: true })");
  EXPECT_EQ(config["platform"], "onnxruntime_onnx");
  EXPECT_EQ(config["max_batch_size"], 16);
  EXPECT_EQ(config["input"][0]["dims"], json({2}));
  EXPECT_EQ(config["instance_group"][0]["count"], 2);
  const json& batching = config["dynamic_batching"];
  EXPECT_EQ(batching["preferred_batch_size"], json({4, 8}));
  EXPECT_EQ(batching["max_queue_delay_microseconds"], 100);
  EXPECT_EQ(batching["preserve_ordering"], false);
  EXPECT_EQ(batching["default_queue_policy"]["timeout_action"], "DELAY");
  EXPECT_EQ(batching["priority_queue_policy"]["1"]["max_queue_size"], 7);
  EXPECT_EQ(config["parameters"]["a"]["string_value"], "b");
  EXPECT_EQ(config["response_cache"]["enable"], true);
  // The metadata has the batch dimension all the same.
  EXPECT_EQ(Get("/v2/models/m")["inputs"][0]["shape"], json({-1, 2}));
  EXPECT_EQ(Log(), "");
}

TEST_F(ModelConfigTest, FieldsThatAreNotKnownAreNamedAndNoMore) {
  const json config = Config(R"(max_batch_size: 2
      model_operations { op_library_filename: "evil.so" }
      input { name: "x" flavour: 3 })");
  EXPECT_EQ(config["max_batch_size"], 2);
  EXPECT_THAT(Log(), HasSubstr("model 'm': config.pbtxt, line 2"));
  EXPECT_THAT(Log(), HasSubstr("model_operations"));
  EXPECT_THAT(Log(), HasSubstr("flavour"));
}

TEST_F(ModelConfigTest, ContradictionsAreErrors) {
  const auto has = [&](const std::string& text, const std::string& expected) {
    EXPECT_THAT(Error(text), HasSubstr(expected)) << text;
  };
  has(R"(name: "n")", "name: expected 'm', as the model's directory, got 'n'");
  has(R"(platform: "tensorrt_plan")",
      "platform: expected onnxruntime_onnx or ensemble, got tensorrt_plan");
  has(R"(backend: "python")", "backend: expected onnxruntime or onward, got python");
  has(R"(input { name: "w" })", "input name: expected one of the model's: 'x', 'k', 'fixed'");
  has(R"(input { name: "k" data_type: TYPE_FP32 })",
      "input 'k': data_type: expected TYPE_INT64, got TYPE_FP32");
  has(R"(input { name: "x" dims: [-1, 3] })", "input 'x': dims: expected [-1,2], got [-1,3]");
  has(R"(input { name: "x" dims: [2] })", "input 'x': dims: expected [-1,2], got [2]");
  has(R"(output { name: "z" dims: [4, 2] })", "output 'z': dims: expected [3,2], got [4,2]");
  has("max_batch_size: 8",
      "max_batch_size: expected 0, since input 'fixed' has a first dimension of 3");
  has("max_batch_size: -1", "max_batch_size: expected 0 or more, got -1");
  has(R"(input { name: "x" optional: true })", "input 'x': optional: expected false");
  has(R"(ensemble_scheduling { })", "an ensemble needs input, output");
  has(R"(platform: "ensemble")", "ensemble_scheduling: expected steps");
  has(R"(input { name: "x" data_type: TYPE_NONE })", "config.pbtxt: line 1");
  EXPECT_EQ(Error(R"(input { name: "x" data_type: TYPE_FP32 dims: [-1, 2] })"), "");
}

TEST(ConfigTextTest, WhatIsTooLargeOrTooDeepIsRefused) {
  std::string deep = "unknown ";
  for (int i = 0; i < 100000; ++i) deep += "{ a ";
  EXPECT_FALSE(ReadConfigText(deep, "m", nullptr).ok());
  const std::string large(kMostConfigBytes + 1, ' ');
  EXPECT_FALSE(ReadConfigText(large, "m", nullptr).ok());
  EXPECT_FALSE(ReadConfigJson(large, "m", nullptr).ok());
  EXPECT_FALSE(ReadConfigJson(std::string(100000, '['), "m", nullptr).ok());
  const auto lenient = ReadConfigJson(R"({"max_batch_size":3,"flavour":1})", "m", nullptr);
  ASSERT_TRUE(lenient.ok());
  EXPECT_EQ(lenient->max_batch_size(), 3);
}

}  // namespace
}  // namespace onward::serving
