// The gradient of Dropout uses the mask of the same run.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::training {
namespace {

constexpr int64_t kCount = 1000;

// y and the gradient of sum(y) by x, at ones.
std::pair<Tensor, Tensor> Evaluate(const std::string& text, const Session::Inputs& others) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  Graph& graph = model->graph;
  GraphSink sink(graph, "loss/");
  const Expr loss = expr::ReduceSum(sink.Value(graph.FindValue("y")), {}, false);
  const auto gradients = AddGradients(graph, loss.id(), {graph.FindValue("x")});
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  const Expr named = expr::Identity(sink.Value((*gradients)[0]));
  GraphEdit(graph).Rename(named.id(), "g");
  GraphEdit(graph).AddOutput(named.id());
  SessionOptions options;
  options.seed = 7;
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  Tensor ones(DType::kFloat32, Dims{kCount});
  std::fill_n(ones.mutable_data<float>(), kCount, 1.0f);
  Session::Inputs inputs = others;
  inputs["x"] = Value(ones);
  const auto outputs = (*session)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return {outputs->at("y").tensor(), outputs->at("g").tensor()};
}

// What x = 1 becomes is the slope.
void ExpectTheSame(const std::pair<Tensor, Tensor>& result, int64_t at_least, int64_t at_most) {
  int64_t dropped = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const float y = result.first.data<float>()[i];
    EXPECT_FLOAT_EQ(result.second.data<float>()[i], y) << i;
    dropped += y == 0;
  }
  EXPECT_GE(dropped, at_least);
  EXPECT_LE(dropped, at_most);
}

std::string Text(const std::string& inputs, const std::string& call, int64_t seed = 3) {
  return absl::StrCat("g (float[1000] x", inputs, ") => (float[1000] y",
                      ") <float r = {0.25}, bool on = {1}, bool off = {0}> { ",
                      absl::StrCat("y = Dropout <seed = ", seed, "> ", call), " }");
}

TEST(DropoutGradient, UsesTheMaskOfTheRun) {
  ExpectTheSame(Evaluate(Text("", "(x, r, on)"), {}), 150, 350);
  ExpectTheSame(Evaluate(Text("", "(x, , on)"), {}), 350, 650);
}

TEST(DropoutGradient, IsTheIdentityOutsideOfTraining) {
  ExpectTheSame(Evaluate(Text("", "(x)"), {}), 0, 0);
  ExpectTheSame(Evaluate(Text("", "(x, r, off)"), {}), 0, 0);
}

TEST(DropoutGradient, FollowsAModeThatIsAnInput) {
  const std::string text = Text(", bool t, float p", "(x, p, t)");
  const Value half(Tensor::Scalar(0.5f)), all(Tensor::Scalar(1.0f));
  const Value on(Tensor::Scalar(true)), off(Tensor::Scalar(false));
  ExpectTheSame(Evaluate(text, {{"t", on}, {"p", half}}), 350, 650);
  ExpectTheSame(Evaluate(text, {{"t", off}, {"p", half}}), 0, 0);
}

}  // namespace
}  // namespace onward::training
