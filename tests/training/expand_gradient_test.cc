#include "training/gradient/expand_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "onward/import.h"
#include "onward/session.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Model> Expanded(const std::string& text) {
  onnx::ModelProto proto;
  const std::string model = absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 28, \"ai.onnx.preview.training\" : 1]>\n", text);
  const auto status = onnx::OnnxParser::Parse(proto, model.c_str());
  if (!status.IsOK()) return absl::InvalidArgumentError(status.ErrorMessage());
  auto imported = ImportBytes(proto.SerializeAsString());
  if (!imported.ok()) return imported;
  if (absl::Status expanded = ExpandGradientNodes(imported->graph); !expanded.ok()) return expanded;
  return imported;
}

std::string Error(const std::string& text) {
  const auto model = Expanded(text);
  return model.ok() ? "OK" : std::string(model.status().message());
}

Session::Outputs Evaluate(const std::string& text, const Session::Inputs& inputs) {
  auto model = Expanded(text);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  auto session = Session::Create(*std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = (*session)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : Session::Outputs();
}

const std::string kGradient = "ai.onnx.preview.training.Gradient";

// d = (a + b) a: dd/da = 2a + b, dd/db = a.
TEST(ExpandGradient, OfScalars) {
  const auto outputs = Evaluate(
      "g (float a, float b) => (float d, float da, float db) {"
      "c = Add(a, b) d = Mul(c, a) da, db = " +
          kGradient + " <xs = [\"a\", \"b\"], y = \"d\"> (a, b) }",
      {{"a", Value(Tensor::Scalar(3.0f))}, {"b", Value(Tensor::Scalar(5.0f))}});
  EXPECT_EQ(*outputs.at("da").tensor().data<float>(), 11);
  EXPECT_EQ(*outputs.at("db").tensor().data<float>(), 3);
}

// The sum's gradient where y has several elements; zs and omitted outputs.
TEST(ExpandGradient, OfTensors) {
  const auto outputs =
      Evaluate("g (float[3] w, float[3] x) => (float[3] dw) { y = Mul(w, x) dw = " + kGradient +
                   " <xs = [\"w\"], zs = [\"x\"], y = \"y\"> (w, x) }",
               {{"w", Value(Tensor::Of<float>({3}, {1, 2, 3}))},
                {"x", Value(Tensor::Of<float>({3}, {4, 5, 6}))}});
  EXPECT_THAT(outputs.at("dw").tensor().span<float>(), ElementsAre(4, 5, 6));
}

// y = h * h with h = 3x: dy/dh = 2h.
TEST(ExpandGradient, OfAnIntermediateTensor) {
  const auto outputs = Evaluate(
      "g (float x) => (float y, float dh) <float three = {3}> {"
      "h = Mul(x, three) y = Mul(h, h) dh = " +
          kGradient + " <xs = [\"h\"], y = \"y\"> (h) }",
      {{"x", Value(Tensor::Scalar(2.0f))}});
  EXPECT_EQ(*outputs.at("dh").tensor().data<float>(), 12);
}

// y = x^3 as products: dy/dx = 3x^2, its derivative 6x.
TEST(ExpandGradient, OfAGradient) {
  const auto outputs = Evaluate(
      "g (float x) => (float d1, float d2) {"
      "a = Mul(x, x) y = Mul(a, x) d1 = " +
          kGradient + " <xs = [\"x\"], y = \"y\"> (x) d2 = " + kGradient +
          " <xs = [\"x\"], y = \"d1\"> (x) }",
      {{"x", Value(Tensor::Scalar(2.0f))}});
  EXPECT_EQ(*outputs.at("d1").tensor().data<float>(), 12);
  EXPECT_EQ(*outputs.at("d2").tensor().data<float>(), 12);
}

// y = x^4 by a loop that squares twice: dy/dx = 4x^3, its derivative 12x^2.
TEST(ExpandGradient, ThroughALoop) {
  const auto outputs = Evaluate(
      "g (float x) => (float d1, float d2) <int64 two = {2}> {"
      "y = Loop(two, , x) <body = b (int64 i, bool c, float h) => (bool c2, float h2) {"
      "c2 = Identity(c) h2 = Mul(h, h) }> d1 = " +
          kGradient + " <xs = [\"x\"], y = \"y\"> (x) d2 = " + kGradient +
          " <xs = [\"x\"], y = \"d1\"> (x) }",
      {{"x", Value(Tensor::Scalar(2.0f))}});
  EXPECT_EQ(*outputs.at("d1").tensor().data<float>(), 32);
  EXPECT_EQ(*outputs.at("d2").tensor().data<float>(), 48);
}

TEST(ExpandGradient, Errors) {
  EXPECT_THAT(Error("g (float a) => (float d) { c = Mul(a, a) d = " + kGradient +
                    " <xs = [\"a\"], y = \"nothing\"> (a) }"),
              HasSubstr("the graph has no tensor 'nothing'"));
  EXPECT_THAT(Error("g (float a, float b) => (float d) { c = Mul(a, a) d = " + kGradient +
                    " <xs = [\"a\"], y = \"c\"> (b) }"),
              HasSubstr("input 0 is not 'a' itself"));
  EXPECT_THAT(Error("g (float a, float b) => (float d) { c = Mul(a, a) d = " + kGradient +
                    " <xs = [\"a\"], y = \"c\"> (a, b) }"),
              HasSubstr("xs and zs name 1 tensors for 2 inputs"));
}

}  // namespace
}  // namespace onward::training
