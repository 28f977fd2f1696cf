// What becomes of a model of float32 in 16 bits, and what stays.
#include "quantization/half_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/infer/infer.h"
#include "graph/ir/verify.h"
#include "onward/session.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/text_model.h"

namespace onward::quantization {
namespace {

Model Converted(const std::string& text, const HalfFloatOptions& options = {}) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto report = ConvertToHalfFloats(*model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(Verify(model->graph).ok()) << Verify(model->graph);
  EXPECT_TRUE(InferGraph(model->graph).ok());
  return *std::move(model);
}

std::string NodesOf(const std::string& text, const HalfFloatOptions& options = {}) {
  return testing::Nodes(Converted(text, options).graph);
}

constexpr char kLayer[] =
    "g (float[N,2] x) => (float[N,2] z) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> {"
    "y = MatMul(x, w) a = Add(y, b) z = Relu(a) }";

TEST(HalfFloats, WeightsKeepTheirNamesAndTheBorderItsTypes) {
  const Model model = Converted(kLayer);
  EXPECT_EQ(testing::Nodes(model.graph),
            "x_float16 = Cast(x)\n"
            "y_float16 = MatMul(x_float16, w)\n"
            "a_float16 = Add(y_float16, b)\n"
            "z_float16 = Relu(a_float16)\n"
            "z = Cast(z_float16)\n");
  EXPECT_EQ(model.graph.type(model.graph.FindValue("w")).dtype, DType::kFloat16);
}

TEST(HalfFloats, TheBorderIsConvertedOnDemand) {
  const Model model = Converted(kLayer, {.convert_io = true});
  EXPECT_EQ(testing::Nodes(model.graph),
            "y_float16 = MatMul(x, w)\n"
            "a_float16 = Add(y_float16, b)\n"
            "z = Relu(a_float16)\n");
  EXPECT_EQ(model.graph.type(model.graph.inputs()[0]).dtype, DType::kFloat16);
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0]).dtype, DType::kFloat16);
}

TEST(HalfFloats, TheBorderOfAnIslandIsConvertedByCasts) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (float[N,2] z) { z = Softmax(x) }", {.convert_io = true}),
            "x_float32 = Cast(x)\n"
            "z_float32 = Softmax(x_float32)\n"
            "z = Cast(z_float32)\n");
}

TEST(HalfFloats, TablesAreStoredInSixteenBits) {
  EXPECT_EQ(NodesOf("g (int64[N] ids) => (float[N,2] z) <float[2,2] t = {1, 2, 3, 4}> {"
                    "z = Gather(t, ids) }"),
            "z_float16 = Gather(t, ids)\n"
            "z = Cast(z_float16)\n");
}

TEST(HalfFloats, IntegersAreMadeOfAndGiveFloat32) {
  const char* text =
      "g (float[N,2] x) => (float[N,2] z) <int8[2,2] w = {1, 2, 3, 4}, float[2] s = {0.5, 1}> {"
      "d = DequantizeLinear <axis = 1> (w, s) z = MatMul(x, d) }";
  EXPECT_EQ(NodesOf(text),
            "d = DequantizeLinear(w, s)\n"
            "x_float16 = Cast(x)\n"
            "d_float16 = Cast(d)\n"
            "z_float16 = MatMul(x_float16, d_float16)\n"
            "z = Cast(z_float16)\n");
}

// Each lacks float16 for a reason of its own: too large, the largest below the normal numbers.
TEST(HalfFloats, ConstantsOutOfRangeMakeIslands) {
  for (const char* w : {"{1, 2, 3, 70000}", "{1e-6, 2e-6, 3e-6, 4e-6}"}) {
    const std::string text = std::string("g (float[N,2] x) => (float[N,2] z) <float[2,2] w = ") +
                             w + "> { z = MatMul(x, w) }";
    EXPECT_EQ(NodesOf(text), "z = MatMul(x, w)\n") << w;
    EXPECT_EQ(NodesOf(text, {.dtype = DType::kBFloat16}),
              "x_bfloat16 = Cast(x)\n"
              "z_bfloat16 = MatMul(x_bfloat16, w)\n"
              "z = Cast(z_bfloat16)\n");
  }
}

TEST(HalfFloats, ValuesThatAreKnownToOverflowMakeIslands) {
  HalfFloatOptions options;
  options.overflows = [](std::string_view name) { return name == "a"; };
  EXPECT_EQ(NodesOf(kLayer, options),
            "x_float16 = Cast(x)\n"
            "y_float16 = MatMul(x_float16, w)\n"
            "y = Cast(y_float16)\n"
            "a = Add(y, b)\n"
            "z = Relu(a)\n");
}

TEST(HalfFloats, StoredWeightsAreCastBeforeUse) {
  const std::string weights = absl::StrJoin(std::vector<float>(64, 0.5f), ", ");
  const Model model = Converted(
      "g (float[N,8] x) => (float[N,8] z) <float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}, float[8,8] w = "
      "{" +
          weights + "}> { y = MatMul(x, w) z = Add(y, b) }",
      {.dtype = DType::kBFloat16, .arithmetic = false});
  EXPECT_EQ(testing::Nodes(model.graph),
            "w_float32 = Cast(w)\n"
            "y = MatMul(x, w_float32)\n"
            "z = Add(y, b)\n");
  EXPECT_EQ(model.graph.type(model.graph.FindValue("w")).dtype, DType::kBFloat16);
}

TEST(HalfFloats, ManyStoredWeightsKeepTheirElements) {
  const std::string weights = absl::StrJoin(std::vector<float>(64, 0.5f), ", ");
  std::string inits, nodes, last = "x";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&inits, i == 0 ? "" : ", ", "float[8,8] w", i, " = {", weights, "}");
    absl::StrAppend(&nodes, "y", i, " = MatMul(", last, ", w", i, ") ");
    last = absl::StrCat("y", i);
  }
  const Model model =
      Converted("g (float[N,8] x) => (float[N,8] y19) <" + inits + "> {" + nodes + "}",
                {.dtype = DType::kBFloat16, .arithmetic = false});
  for (int i = 0; i < 20; ++i) {
    const Tensor* w = model.graph.constant(model.graph.FindValue(absl::StrCat("w", i)));
    ASSERT_EQ(w->dtype(), DType::kBFloat16);
    ASSERT_EQ(w->num_elements(), 64);
    for (const BFloat16 element : w->span<BFloat16>()) ASSERT_EQ(static_cast<float>(element), 0.5f);
  }
}

TEST(HalfFloats, FitsFloat16) {
  const auto fits = [](float value) { return FitsFloat16(Tensor::Scalar<float>(value)); };
  EXPECT_TRUE(fits(0));
  EXPECT_TRUE(fits(-65504));
  EXPECT_FALSE(fits(65505));
  EXPECT_FALSE(fits(1e-12f));
  EXPECT_TRUE(fits(-std::numeric_limits<float>::infinity()));
}

// ONNX Runtime is the judge of what the result means: it runs the float32 model and the other one.
TEST(HalfFloats, OnnxRuntimeRunsTheResult) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers onnxruntime installs it";
  const char* text =
      "g (float[N,4] x) => (float[N,3] z, float[N,3] p) <float[4,3] w = {1, -2, 3, 0.5, 1, 4, "
      "0.1, 0.2, 0.3, -1, -1, 2}, float[3] b = {1, 2, 1e5}> {"
      "y = MatMul(x, w) z = Add(y, b) p = Softmax(y) }";
  const Session::Inputs inputs = {
      {"x", Value(Tensor::Of<float>({2, 4}, {1, 2, 3, 4, -0.5, 0.25, 1, 7}))}};
  const auto model = testing::ModelFromText(text);
  ASSERT_TRUE(model.ok());
  for (const HalfFloatOptions& options :
       {HalfFloatOptions{}, HalfFloatOptions{.dtype = DType::kBFloat16, .arithmetic = false}}) {
    const auto results =
        testing::RunInOnnxRuntime({{*model, inputs}, {Converted(text, options), inputs}});
    ASSERT_TRUE(results[0].ok() && results[1].ok()) << results[1].status();
    for (const char* name : {"z", "p"}) {
      const Tensor& expected = results[0]->at(name).tensor();
      const Tensor& actual = results[1]->at(name).tensor();
      ASSERT_EQ(actual.dtype(), DType::kFloat32);
      for (int64_t i = 0; i < expected.num_elements(); ++i) {
        const float e = expected.data<float>()[i];
        EXPECT_NEAR(actual.data<float>()[i], e, 0.004f * std::abs(e) + 0.002f) << name << i;
      }
    }
  }
}

}  // namespace
}  // namespace onward::quantization
