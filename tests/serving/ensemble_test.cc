// Ensembles of a repository, as clients see them. What they compute is written out by hand.
#include "tests/serving/repository_fixture.h"

namespace onward::serving {
namespace {

using onward::testing::ModelBytes;
using onward::testing::Times;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTensors[] = R"(
  platform: "ensemble"
  max_batch_size: 8
  input { name: "x" data_type: TYPE_FP32 dims: [2] }
  output { name: "z" data_type: TYPE_FP32 dims: [2] }
)";

class EnsembleTest : public onward::testing::RepositoryTest {
 protected:
  EnsembleTest() {
    directory_.Write("twice/1/model.onnx", Times(2));
    directory_.Write("plus/1/model.onnx",
                     ModelBytes("g (float[rows, 2] a, float[rows, 2] b) => (float[rows, 2] sum) "
                                "{ sum = Add(a, b) }"));
  }
  // The error of an ensemble with these steps, to clients; "" where it loads.
  std::string Error(const std::string& steps, const std::string& tensors = kTensors) {
    directory_.Write("e/config.pbtxt", tensors + "ensemble_scheduling {" + steps + "}");
    if (server_ == nullptr) (void)Start({{"", directory_.path()}});
    Client client(server_->port());
    const auto reply = client.Ask("POST", "/v2/repository/models/e/load", "",
                                  "Authorization: Bearer key-of-an-administrator\r\n");
    const json body = json::parse(reply.body, nullptr, false);
    const std::string error = body.is_object() ? body.value("error", "") : "";
    EXPECT_EQ(reply.status == 200, error.empty()) << reply.body;
    EXPECT_THAT(error, Not(HasSubstr(directory_.path())));
    return error;
  }
  using Client = onward::testing::Client;
};

// z = 2 x + x; loaded before the models that are its steps.
constexpr char kTriple[] = R"(
  step { model_name: "plus" input_map { key: "a" value: "doubled" } input_map { key: "b" value: "x" }
         output_map { key: "sum" value: "z" } }
  step { model_name: "twice" model_version: -1 input_map { key: "x" value: "x" }
         output_map { key: "y" value: "doubled" } }
)";

TEST_F(EnsembleTest, StepsAreOneModel) {
  EXPECT_EQ(Error(kTriple), "");
  EXPECT_THAT(Infer("/v2/models/e", 3), Pair(3, "1"));
  const json metadata = Get("/v2/models/e");
  EXPECT_EQ(metadata["platform"], "ensemble");
  EXPECT_EQ(metadata["inputs"], json::parse(R"([{"name":"x","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(metadata["outputs"], json::parse(R"([{"name":"z","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(Get("/v2/models/e/config")["ensemble_scheduling"]["step"][1]["model_name"], "twice");
  // The steps stay what they were, and an ensemble does not need them loaded.
  EXPECT_THAT(Infer("/v2/models/twice"), Pair(2, "1"));
  Post("/v2/repository/models/twice/unload");
  EXPECT_THAT(Infer("/v2/models/e"), Pair(3, "1"));
  EXPECT_EQ(Error(kTriple), "");
  EXPECT_THAT(Infer("/v2/models/e"), Pair(3, "1"));
}

TEST_F(EnsembleTest, AReloadTakesTheNewMember) {
  EXPECT_EQ(Error(kTriple), "");
  directory_.Write("twice/1/model.onnx", Times(10));
  EXPECT_EQ(Infer("/v2/models/e").first, 3);
  EXPECT_EQ(Error(kTriple), "");
  EXPECT_EQ(Infer("/v2/models/e").first, 11);
}

TEST_F(EnsembleTest, VersionsOfStepsAndEnsemblesWithinEnsembles) {
  directory_.Write("twice/2/model.onnx", Times(7));
  directory_.Write("inner/4/.keep", "");
  directory_.Write("inner/config.pbtxt",
                   std::string(kTensors) + "ensemble_scheduling {" + kTriple + "}");
  // z = 2 (7 x + x), since the newest version of twice is 2 and the last step asks for 1.
  EXPECT_EQ(Error(R"(
      step { model_name: "inner" input_map { key: "x" value: "x" }
             output_map { key: "z" value: "eightfold" } }
      step { model_name: "twice" model_version: 1 input_map { key: "x" value: "eightfold" }
             output_map { key: "y" value: "z" } })"),
            "");
  EXPECT_THAT(Infer("/v2/models/e"), Pair(16, "1"));
  EXPECT_THAT(Infer("/v2/models/inner/versions/4"), Pair(8, "4"));
}

TEST_F(EnsembleTest, LabelsOfStepsNameTheClasses) {
  directory_.Write("twice/config.pbtxt", R"(output { name: "y" label_filename: "labels.txt" })");
  directory_.Write("twice/labels.txt", "cat\ndog\n");
  EXPECT_EQ(Error(R"(step { model_name: "twice" input_map { key: "x" value: "x" }
                            output_map { key: "y" value: "z" } })"),
            "");
  const json reply = Post("/v2/models/e/infer", R"({"inputs":[{"name":"x","datatype":"FP32",
      "shape":[1,2],"data":[1,2]}],"outputs":[{"name":"z","parameters":{"classification":1}}]})");
  EXPECT_THAT(reply["outputs"][0]["data"][0].get<std::string>(), HasSubstr(":1:dog"));
}

TEST_F(EnsembleTest, ErrorsNameStepAndTensor) {
  EXPECT_THAT(Error(""), HasSubstr("needs input, output and ensemble_scheduling { step }"));
  EXPECT_THAT(Error(R"(step { model_name: "twise" })"),
              HasSubstr("step 'twise': Request for unknown model: 'twise' is not found; did you "
                        "mean 'twice'?"));
  EXPECT_THAT(Error(R"(step { model_name: "twice" output_map { key: "y" value: "z" } })"),
              HasSubstr("step 'twice': no tensor is mapped to its input 'x'"));
  EXPECT_THAT(Error(R"(step { model_name: "twice" input_map { key: "x" value: "u" }
                              output_map { key: "y" value: "z" } })"),
              HasSubstr("'twice': input 'x' reads the tensor 'u', which is not an input"));
  EXPECT_THAT(Error(R"(step { model_name: "e" input_map { key: "x" value: "x" }
                              output_map { key: "z" value: "z" } })"),
              HasSubstr("an ensemble cannot be a step of itself: 'e' > 'e'"));
  EXPECT_THAT(Error(R"(step { model_name: "twice" model_version: 3
                              input_map { key: "x" value: "x" }
                              output_map { key: "y" value: "z" } })"),
              HasSubstr("step 'twice': version_policy: version 3 has no model.onnx"));
  directory_.Write("wide/1/model.onnx",
                   ModelBytes("g (float[n, 3] x) => (float[n, 3] y) { y = Neg(x) }"));
  EXPECT_THAT(Error(R"(step { model_name: "twice" input_map { key: "x" value: "x" }
                              output_map { key: "y" value: "t" } }
                       step { model_name: "wide" input_map { key: "x" value: "t" }
                              output_map { key: "y" value: "z" } })"),
              HasSubstr("step 'wide': input 'x' is float32[n,3], but the tensor 't', which step "
                        "'twice' makes, is float32[n,2]"));
  // What the configuration says of the whole is compared with what the steps make.
  EXPECT_THAT(Error(kTriple, R"(platform: "ensemble"
                                input { name: "x" dims: [-1, 2] }
                                output { name: "z" data_type: TYPE_INT64 dims: [-1, 2] })"),
              HasSubstr("output 'z': data_type: expected TYPE_FP32, got TYPE_INT64"));
  EXPECT_THAT(Error(kTriple, R"(platform: "onnxruntime_onnx"
                                input { name: "x" } output { name: "z" })"),
              HasSubstr("platform: expected ensemble"));
  directory_.Write("wide/config.pbtxt", "sequence_batching { }");
  EXPECT_THAT(Error(R"(step { model_name: "wide" })"),
              HasSubstr("a model with sequence_batching cannot be a step"));
}

}  // namespace
}  // namespace onward::serving
