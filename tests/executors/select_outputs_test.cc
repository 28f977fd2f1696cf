#include "executors/select_outputs.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "onward/session.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using ::testing::HasSubstr;

Model TwoOutputs() {
  auto model = testing::ModelFromText(
      "g (float[n] x) => (float[n] a, float[n] b) {"
      "  middle = Sin (x) a = Neg (middle) other = Cos (x) b = Neg (other) }");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<std::string> NamesOf(const Session& session) {
  std::vector<std::string> names;
  for (const ValueInfo& info : session.outputs()) names.push_back(info.name);
  return names;
}

TEST(SelectOutputs, ComputesTheNamedValuesAlone) {
  const Session::Inputs inputs = {{"x", Tensor::Of<float>({2}, {0.5F, 1})}};
  auto session = Session::Create(TwoOutputs(), {.outputs = {"b"}});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(NamesOf(**session), ::testing::ElementsAre("b"));
  EXPECT_LE((*session)->graph().node_ids().size(), 2u);  // nothing of `a`
  auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_NEAR(outputs->at("b").tensor().data<float>()[1], -std::cos(1.0F), 1e-6);
  // A value within the graph, beside an output, in this order.
  session = Session::Create(TwoOutputs(), {.outputs = {"middle", "a"}});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(NamesOf(**session), ::testing::ElementsAre("middle", "a"));
  outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_NEAR(outputs->at("middle").tensor().data<float>()[0], std::sin(0.5F), 1e-6);
  EXPECT_NEAR(outputs->at("a").tensor().data<float>()[0], -std::sin(0.5F), 1e-6);
}

// Two inputs share a dim's name and have other sizes: the file is imported again.
TEST(SelectOutputs, HoldsForAFileThatIsImportedAgain) {
  const testing::ScratchDirectory directory;
  auto model = testing::ModelFromText(
      "g (float[n] x, float[n] y) => (float[n] a, float[n] b) { a = Sin (x) b = Sin (y) }");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(ExportFile(*model, directory.path("m.onnx")).ok());
  auto session = Session::Load(directory.path("m.onnx"), {.outputs = {"b"}});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs =
      (*session)->Run({{"x", Tensor::Of<float>({1}, {1})}, {"y", Tensor::Of<float>({2}, {1, 2})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at("b").tensor().dims(), (Dims{2}));
}

TEST(SelectOutputs, NamesWhatIsWrong) {
  const auto error = [](const std::vector<std::string>& names) {
    return std::string(Session::Create(TwoOutputs(), {.outputs = names}).status().message());
  };
  EXPECT_EQ(error({"midle"}), "outputs: the model has no value 'midle'; did you mean 'middle'?");
  EXPECT_EQ(error({"a", "a"}), "outputs: 'a' is named twice");
  Model state = TwoOutputs();
  state.updates.push_back({state.graph.inputs()[0], state.graph.outputs()[0]});
  EXPECT_THAT(std::string(SelectOutputs(state, {"a"}).message()), HasSubstr("updates its state"));
  EXPECT_TRUE(SelectOutputs(state, {}).ok());
}

}  // namespace
}  // namespace onward::executors
