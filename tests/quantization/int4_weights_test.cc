// Weights of 4 bits: what is stored, how near it is, and what GPTQ gains on the samples' own
// inputs.
#include "quantization/int4_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "graph/infer/infer.h"
#include "graph/ir/verify.h"
#include "onward/builder.h"
#include "onward/session.h"
#include "quantization/products.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/text_model.h"

namespace onward::quantization {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;

constexpr int64_t kRows = 64, kColumns = 24;

Tensor Normal(DimsView dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = normal(generator);
  return tensor;
}

// A MatMul, and a Gemm that reads its matrix transposed.
Model TwoProducts() {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", kRows});
  b.Output("y", MatMul(x, b.Constant(Normal({kRows, kColumns}, 1), "w")));
  const Expr transposed = b.Constant(Normal({kColumns, kRows}, 2), "v");
  b.Output("z", Gemm(x, transposed, {}, false, true));
  return *b.Build();
}

// Inputs whose elements go together, as activations do.
Tensor Correlated(int64_t count) {
  const Tensor few = Normal({count, 4}, 3), mix = Normal({4, kRows}, 4),
               own = Normal({count, kRows}, 5);
  Tensor x(DType::kFloat32, Dims{count, kRows});
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < kRows; ++j) {
      float sum = 0.2f * own.data<float>()[i * kRows + j];
      for (int64_t k = 0; k < 4; ++k)
        sum += few.data<float>()[i * 4 + k] * mix.data<float>()[k * kRows + j];
      x.mutable_data<float>()[i * kRows + j] = sum;
    }
  }
  return x;
}

Session::Outputs OutputsOf(const Model& model, const Tensor& x) {
  auto session = Session::Create(model);
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = (*session)->Run({{"x", Value(x)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *outputs;
}

// The square of the difference by that of the expected values.
double Loss(const Session::Outputs& expected, const Session::Outputs& actual) {
  double difference = 0, square = 0;
  for (const auto& [name, value] : expected) {
    const auto e = value.tensor().span<float>(), a = actual.at(name).tensor().span<float>();
    for (size_t i = 0; i < e.size(); ++i) {
      difference += std::pow(static_cast<double>(e[i]) - a[i], 2);
      square += std::pow(static_cast<double>(e[i]), 2);
    }
  }
  return difference / square;
}

Model Quantized(Model model, const Int4Options& options) {
  const auto report = QuantizeWeightsToInt4(model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->weights, 2);
  EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
  EXPECT_TRUE(InferGraph(model.graph).ok()) << InferGraph(model.graph);
  return model;
}

TEST(Int4Weights, AreBlocksBehindDequantizeLinear) {
  const Model model = Quantized(TwoProducts(), {.block_size = 16});
  EXPECT_EQ(testing::Nodes(model.graph),
            "w_dequantized = DequantizeLinear(w_int4, w_scale)\n"
            "y = MatMul(x, w_dequantized)\n"
            "v_dequantized = DequantizeLinear(v_int4, v_scale)\n"
            "z = Gemm(x, v_dequantized)\n");
  const auto dims = [&](const char* name) {
    const DimsView view = model.graph.constant(model.graph.FindValue(name))->dims();
    return std::vector<int64_t>(view.begin(), view.end());
  };
  EXPECT_EQ(dims("w_int4"), (std::vector<int64_t>{kRows, kColumns}));
  EXPECT_EQ(dims("w_scale"), (std::vector<int64_t>{4, kColumns}));
  EXPECT_EQ(dims("v_int4"), (std::vector<int64_t>{kColumns, kRows}));
  EXPECT_EQ(dims("v_scale"), (std::vector<int64_t>{kColumns, 4}));
}

// GPT-2's logits are a product by the transpose of its embedding, 154 MB.
TEST(Int4Weights, AnEmbeddingAndItsTranspose) {
  GraphBuilder b;
  const Expr w = b.Constant(Tensor::Zeros(DType::kFloat32, {5000, 1000}), "w");  // 20 MB
  const Expr x = Gather(w, b.Input("i", DType::kInt64, {"n"}));
  b.Output("logits", MatMul(x, Transpose(w, {1, 0})));
  Model model = *b.Build();
  ASSERT_TRUE(PrepareProducts(model).ok());
  ASSERT_EQ(WeightedProducts(model.graph).size(), 1u);
  EXPECT_EQ(WeightedProducts(model.graph)[0].input_axis, 0);
}

// The CPU reads the codes as they are, as MatMulNBits.
TEST(Int4Weights, RunAsPackedProducts) {
  for (const int64_t block : {16, 32}) {
    const Model model = Quantized(TwoProducts(), {.block_size = block});
    auto session = Session::Create(model);
    ASSERT_TRUE(session.ok()) << session.status();
    int packed = 0;
    for (const NodeId id : (*session)->graph().node_ids())
      packed += (*session)->graph().node(id).op_type == "MatMulNBits" ? 1 : 0;
    EXPECT_EQ(packed, 2);
    SessionOptions plain;
    plain.optimize = false;
    auto unfused = Session::Create(model, plain);
    ASSERT_TRUE(unfused.ok()) << unfused.status();
    const Tensor x = Normal({7, kRows}, 6);
    const auto expected = (*unfused)->Run({{"x", Value(x)}});
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_LT(Loss(*expected, OutputsOf(model, x)), 1e-10);
  }
}

// Sixteen levels over about four deviations of a normal weight: the step is a quarter of one, the
// error of rounding the step by the root of 12, so that a hundredth of the square is lost at most.
TEST(Int4Weights, LoseWhatFourBitsCost) {
  const Model model = TwoProducts();
  const Tensor x = Normal({50, kRows}, 6);
  const double loss = Loss(OutputsOf(model, x), OutputsOf(Quantized(model, {.block_size = 16}), x));
  EXPECT_LT(loss, 0.01);
  EXPECT_GT(loss, 0.001);
}

// Any sixteen elements in a row or column are the sixteen multiples.
TEST(Int4Weights, WhatFourBitsHoldIsExact) {
  Model model = TwoProducts();
  for (const char* name : {"w", "v"}) {
    Tensor* tensor = const_cast<Tensor*>(model.graph.constant(model.graph.FindValue(name)));
    const int64_t columns = tensor->dims()[1];
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      tensor->mutable_data<float>()[i] =
          static_cast<float>((i / columns * 7 + i % columns) % 16 - 8) * 0.25f;
  }
  const Tensor x = Normal({5, kRows}, 6);
  const Session::Outputs expected = OutputsOf(model, x);
  EXPECT_LT(Loss(expected, OutputsOf(Quantized(model, {.block_size = 16}), x)), 1e-10);
}

TEST(Int4Weights, GptqLosesLessOnTheInputsItKnows) {
  const Model model = TwoProducts();
  const Tensor x = Correlated(200);
  std::map<std::string, InputProducts> inputs;
  inputs["x"] = {kRows, 200, std::vector<float>(kRows * kRows)};
  for (int64_t i = 0; i < kRows * kRows; ++i) {
    for (int64_t r = 0; r < 200; ++r)
      inputs["x"].sums[static_cast<size_t>(i)] +=
          x.data<float>()[r * kRows + i / kRows] * x.data<float>()[r * kRows + i % kRows];
  }
  const Session::Outputs expected = OutputsOf(model, x);
  const double nearest = Loss(expected, OutputsOf(Quantized(model, {}), x));
  const double compensated = Loss(expected, OutputsOf(Quantized(model, {.inputs = &inputs}), x));
  EXPECT_LT(compensated, nearest / 2);
}

TEST(Int4Weights, OnnxRuntimeRunsTheResult) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers onnxruntime installs it";
  const Model model = Quantized(TwoProducts(), {});
  const Tensor x = Normal({3, kRows}, 6);
  const auto peer = testing::RunInOnnxRuntime(model, {{"x", Value(x)}});
  ASSERT_TRUE(peer.ok()) << peer.status();
  // Its kernel rounds what it multiplies to 8 bits by default.
  EXPECT_LT(Loss(*peer, OutputsOf(model, x)), 1e-4);
}

TEST(Int4Weights, RefusesWhatIsQuantizedAndWhatHasNoWeights) {
  Model model = Quantized(TwoProducts(), {});
  EXPECT_THAT(std::string(QuantizeWeightsToInt4(model, {}).status().message()),
              HasSubstr("the model is quantized already: it has [DequantizeLinear"));
  auto plain = testing::ModelFromText("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }");
  EXPECT_THAT(std::string(QuantizeWeightsToInt4(*plain, {}).status().message()),
              HasSubstr("there is nothing to quantize"));
}

}  // namespace
}  // namespace onward::quantization
