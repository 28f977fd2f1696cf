// onward gradient: what it writes and prints, and what it refuses.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Weights "w" and "head/b", a constant that is none, and an integer.
const char kText[] =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "g (float[n,2] x, int64[n] ids) => (float[n,2] \"out/y\", float loss, int64 count)"
    "<float[2] w = {1, 2}, float[2] \"head/b\" = {3, 4}, int64[1] axes = {0}> {"
    "two = Constant<value = float {2.0}>() h = Mul(x, w) k = Mul(h, two) "
    "\"out/y\" = Add(k, \"head/b\") loss = ReduceSum<keepdims = 0>(\"out/y\") count = Size(ids) "
    "r = Round(x) }";

class GradientCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = directory_.Write("model.onnx", testing::ProtoFromText(kText).SerializeAsString());
    written_ = directory_.path("gradient.onnx");
  }

  int Call(const std::string& arguments) {
    const std::string log = directory_.path("log");
    const int status = std::system(absl::StrCat(ONWARD_PROGRAM, " gradient ", model_, " -o ",
                                                written_, " ", arguments, " >", log, " 2>&1")
                                       .c_str());
    std::ifstream file(log);
    log_ = {std::istreambuf_iterator<char>(file), {}};
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::vector<std::string> Names(bool inputs) {
    const auto model = ImportFile(written_);
    EXPECT_TRUE(model.ok()) << model.status();
    std::vector<std::string> names;
    if (!model.ok()) return names;
    for (const ValueId id : inputs ? model->graph.inputs() : model->graph.outputs())
      names.push_back(model->graph.value(id).name);
    return names;
  }

  testing::ScratchDirectory directory_;
  std::string model_, written_, log_;
};

TEST_F(GradientCommandTest, Trainable) {
  ASSERT_EQ(Call("--of loss --wrt trainable"), 0) << log_;
  EXPECT_THAT(Names(true), ElementsAre("x", "ids"));
  EXPECT_THAT(Names(false), ElementsAre("out/y", "loss", "count", "grad/w", "grad/head/b"));
  EXPECT_THAT(log_, HasSubstr("output grad/head/b"));
}

// The file says nothing of its initializers, but the node shows which of them no gradient moves.
TEST_F(GradientCommandTest, RunningStatisticsAreNotTrainable) {
  directory_.Write("model.onnx", testing::ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[n,2] x) => (float loss)
      <float[2] scale = {1, 2}, float[2] bias = {3, 4}, float[2] mean = {5, 6},
       float[2] variance = {7, 8}> {
        y = BatchNormalization(x, scale, bias, mean, variance)
        loss = ReduceSum<keepdims = 0>(y) })")
                                     .SerializeAsString());
  ASSERT_EQ(Call("--of loss --wrt trainable"), 0) << log_;
  EXPECT_THAT(Names(false), ElementsAre("loss", "grad/scale", "grad/bias"));
  EXPECT_THAT(log_, HasSubstr("trainable: 2 of 4 float initializers\n"));
  // By name they are still differentiated.
  ASSERT_EQ(Call("--of loss --wrt mean"), 0) << log_;
  EXPECT_THAT(Names(false), ElementsAre("loss", "grad/mean"));
}

TEST_F(GradientCommandTest, StopsAtNamedValues) {
  ASSERT_EQ(Call("--of loss --wrt x,head/b --stop-gradient 'k'"), 0) << log_;
  const auto model = ImportFile(written_);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Session::Create(*model);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({{"x", Value(Tensor::Of<float>({1, 2}, {5, 6}))},
                                        {"ids", Value(Tensor::Of<int64_t>({1}, {0}))}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at("grad/x").tensor().data<float>()[0], 0);
  EXPECT_EQ(outputs->at("grad/head/b").tensor().data<float>()[0], 1);
  EXPECT_EQ(Call("--of loss --wrt x --stop-gradient kk"), 1);
  EXPECT_THAT(log_, HasSubstr("--stop-gradient: no value of the model matches 'kk'; did you mean"));
}

TEST_F(GradientCommandTest, SeveralOfBoth) {
  ASSERT_EQ(Call("--of out/y,loss --wrt x,h --wrt head/b --json"), 0) << log_;
  EXPECT_THAT(Names(true), ElementsAre("x", "ids", "grad/out/y"));
  EXPECT_THAT(Names(false),
              ElementsAre("out/y", "loss", "count", "grad/x", "grad/h", "grad/head/b"));
  EXPECT_THAT(log_, HasSubstr("\"cotangents\""));
  const auto model = ImportFile(written_);
  EXPECT_EQ(model->graph.type(model->graph.FindValue("grad/x")).ToString(), "float32[n,2]");
}

// Some of Onward's own ops have no body in ops of the standard.
TEST_F(GradientCommandTest, OnwardOpsWhereTheyAreAllowed) {
  directory_.Write("model.onnx", testing::ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[2] x) => (float[2] y) { h = Relu(x) y = Mul(h, h) })")
                                     .SerializeAsString());
  ASSERT_EQ(Call("--of y --wrt x --allow-onward-ops"), 0) << log_;
  auto model = ImportFile(written_);
  ASSERT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(
      {{"x", Tensor::Of<float>({2}, {3, -1})}, {"grad/y", Tensor::Of<float>({2}, {1, 1})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(outputs->at("grad/x").tensor().span<float>(), ElementsAre(6, 0));
}

TEST_F(GradientCommandTest, Refusals) {
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    EXPECT_EQ(Call(arguments), 1) << arguments;
    EXPECT_THAT(log_, HasSubstr(why)) << arguments;
    EXPECT_FALSE(std::ifstream(written_).good()) << arguments;
  };
  refused("--of los --wrt x", "error: the model has no tensor 'los'; did you mean 'loss'?");
  refused("--of loss --wrt ids", "error: 'ids' is int64[n] and has no gradient");
  refused("--of count --wrt x", "error: 'count' is int64[] and cannot be differentiated");
  refused("--of , --wrt x", "error: --of needs the name of a tensor");
  EXPECT_EQ(Call("--wrt x"), 2) << log_;
}

}  // namespace
}  // namespace onward
