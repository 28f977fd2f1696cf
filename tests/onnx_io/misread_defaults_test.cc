// Defaults that ONNX's own inference takes otherwise than the schema says: import writes them out.
// An STFT without `onesided` is one-sided; inference reads 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::onnx_io {
namespace {

// Windows of 8 samples at steps of 4; the declared sizes of what they give are open.
absl::StatusOr<Model> Stft(const std::string& attribute) {
  return testing::ModelFromText(absl::StrCat(
      "g (float[2,16,1] x, float[8] window) => (float[2,f,b,2] y) <int64 step = {4}> {",
      "y = STFT ", attribute, "(x, step, window) }"));
}

TEST(MisreadDefaults, ImportWritesThemOut) {
  const std::pair<const char*, int64_t> cases[] = {
      {"", 1}, {"<onesided = 1>", 1}, {"<onesided = 0>", 0}};
  for (const auto& [attribute, onesided] : cases) {
    const auto model = Stft(attribute);
    ASSERT_TRUE(model.ok()) << model.status();
    const Graph& graph = model->graph;
    const ValueId output = graph.outputs()[0];
    EXPECT_EQ(graph.node(graph.value(output).producer).attributes.Int("onesided", -1), onesided);
    // Of 8 samples there are 8 frequencies, of which 5 are not the mirror of another.
    EXPECT_EQ(graph.type(output).ToString(),
              onesided == 1 ? "float32[2,3,5,2]" : "float32[2,3,8,2]");
  }
}

// The transform of ones is their number at frequency 0, and 0 at the others.
TEST(MisreadDefaults, RunsGiveWhatTheTypeSays) {
  const auto model = Stft("");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Session::Create(*model);
  ASSERT_TRUE(session.ok()) << session.status();
  const Tensor ones = Tensor::Of<float>({2, 16, 1}, std::vector<float>(32, 1));
  const Tensor window = Tensor::Of<float>({8}, std::vector<float>(8, 1));
  const auto outputs = (*session)->Run({{"x", Value(ones)}, {"window", Value(window)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const Tensor& y = outputs->at("y").tensor();
  ASSERT_EQ(y.dims(), Dims({2, 3, 5, 2}));
  for (int64_t i = 0; i < y.num_elements(); ++i)
    EXPECT_NEAR(y.data<float>()[i], i % 10 == 0 ? 8 : 0, 1e-5) << i;
}

}  // namespace
}  // namespace onward::onnx_io
