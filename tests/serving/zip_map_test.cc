// Models whose scores are a map per row, as scikit-learn's exporter writes them.
#include "tests/serving/repository_fixture.h"
#include "tests/support/proto_text.h"

namespace onward::serving {
namespace {

using ::testing::HasSubstr;

// label: the column of the larger one; probabilities: half of x.
std::string Classifier(const std::string& key, const std::string& classes) {
  const std::string text = absl::StrCat(
      R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
         g (float[n, 2] x) => (int64[n] label, seq(map()",
      key, R"(, float)) probabilities) <float half = {0.5}> {
           label = ArgMax<axis = 1, keepdims = 0>(x)
           p = Mul(x, half)
           probabilities = ai.onnx.ml.ZipMap<)",
      classes, ">(p) }");
  return onward::testing::ProtoFromText(text).SerializeAsString();
}

class ZipMapTest : public onward::testing::RepositoryTest {};

TEST_F(ZipMapTest, ScoresAreATensorWhoseColumnsHaveLabels) {
  directory_.Write("iris/1/model.onnx",
                   Classifier("string", R"(classlabels_strings = ["rose", "iris"])"));
  directory_.Write("sizes/1/model.onnx", Classifier("int64", "classlabels_int64s = [7, 3]"));
  StartDirectory();
  EXPECT_EQ(Get("/v2/models/iris")["outputs"],
            json::parse(R"([{"name":"label","datatype":"INT64","shape":[-1]},
                            {"name":"probabilities","datatype":"FP32","shape":[-1,2]}])"));
  const std::string inputs =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[1,2,8,4]}])";
  const json reply = Post("/v2/models/iris/infer", inputs + "}");
  EXPECT_EQ(reply["outputs"][0]["data"], json({1, 0}));
  EXPECT_EQ(reply["outputs"][1]["data"], json({0.5, 1.0, 4.0, 2.0}));
  const std::string best =
      inputs + R"(,"outputs":[{"name":"probabilities","parameters":{"classification":1}}]})";
  const auto labels = [&](const std::string& model) {
    const json data = Post("/v2/models/" + model + "/infer", best)["outputs"][0]["data"];
    return data[0].get<std::string>() + " " + data[1].get<std::string>();
  };
  EXPECT_THAT(labels("iris"), HasSubstr(":1:iris "));
  EXPECT_THAT(labels("iris"), HasSubstr(":0:rose"));
  EXPECT_THAT(labels("sizes"), HasSubstr(":1:3 "));
  EXPECT_THAT(labels("sizes"), HasSubstr(":0:7"));
}

}  // namespace
}  // namespace onward::serving
