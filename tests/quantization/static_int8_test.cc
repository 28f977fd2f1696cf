// Products of 8-bit integers: where the pairs of QuantizeLinear and DequantizeLinear stand, and
// what is lost.
#include "quantization/static_int8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "graph/infer/infer.h"
#include "graph/ir/verify.h"
#include "onward/builder.h"
#include "onward/session.h"
#include "quantization/products.h"
#include "quantization/ranges.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::quantization {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;

Tensor Normal(DimsView dims, unsigned seed, float deviation = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, deviation);
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = normal(generator);
  return tensor;
}

// Conv, Relu, MaxPool, Conv with bias, flattened, MatMul.
Model SmallNet() {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 2, 8, 8});
  const auto conv = [&](const Expr& data, Tensor weight, Tensor bias, const std::string& number,
                        int64_t pad) {
    return Relu(b.Op("Conv",
                     {data, b.Constant(std::move(weight), "w" + number),
                      b.Constant(std::move(bias), "b" + number)},
                     {{"pads", std::vector<int64_t>(4, pad)}}));
  };
  const Expr first = conv(x, Normal({4, 2, 3, 3}, 1, 0.3f), Normal({4}, 2), "1", 1);
  const Expr pooled =
      b.Op("MaxPool", {first},
           {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  const Expr second = conv(pooled, Normal({6, 4, 3, 3}, 3, 0.3f), Normal({6}, 4), "2", 0);
  b.Output("y", MatMul(b.Op("Flatten", {second}), b.Constant(Normal({24, 5}, 5, 0.3f), "w3")));
  return *b.Build();
}

class StaticInt8 : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i)
      ASSERT_TRUE(files::WriteNpy(Normal({4, 2, 8, 8}, 10 + static_cast<unsigned>(i)),
                                  directory_.path(absl::StrCat(i, ".npy")))
                      .ok());
  }

  Model Quantized(Model model, const RangeOptions& options = {}) {
    EXPECT_TRUE(PrepareProducts(model).ok());
    const auto set = CalibrationSet::Open(directory_.path(), model.graph);
    EXPECT_TRUE(set.ok()) << set.status();
    const auto ranges = CalibrateRanges(model, *set, ValuesOfInt8(model.graph), options, {});
    EXPECT_TRUE(ranges.ok()) << ranges.status();
    const auto report = QuantizeToInt8(model, *ranges);
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(Verify(model.graph).ok()) << Verify(model.graph);
    EXPECT_TRUE(InferGraph(model.graph).ok()) << InferGraph(model.graph);
    return model;
  }

  testing::ScratchDirectory directory_;
};

Session::Outputs OutputsOf(const Model& model, const Tensor& x, bool optimize = true) {
  SessionOptions options;
  options.optimize = optimize;
  auto session = Session::Create(model, options);
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = (*session)->Run({{"x", Value(x)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *outputs;
}

double Loss(const Session::Outputs& expected, const Session::Outputs& actual) {
  double difference = 0, square = 0;
  const auto e = expected.at("y").tensor().span<float>();
  const auto a = actual.at("y").tensor().span<float>();
  for (size_t i = 0; i < e.size(); ++i) {
    difference += std::pow(static_cast<double>(e[i]) - a[i], 2);
    square += std::pow(static_cast<double>(e[i]), 2);
  }
  return difference / square;
}

TEST_F(StaticInt8, ActivationsGoIntoTheirCodes) {
  const Model model = Quantized(SmallNet());
  int relus = 0, pairs = 0;
  for (const NodeId id : model.graph.node_ids()) {
    relus += model.graph.node(id).op_type == "Relu" ? 1 : 0;
    pairs += model.graph.node(id).op_type == "QuantizeLinear" ? 1 : 0;
  }
  EXPECT_EQ(relus, 0);
  // The input, the first result, what the pool gives of it, the second result and its Flatten.
  EXPECT_EQ(pairs, 5);
  const Tensor& w1 = *model.graph.constant(model.graph.FindValue("w1_int8"));
  EXPECT_EQ(w1.dtype(), DType::kInt8);
  EXPECT_EQ(model.graph.constant(model.graph.FindValue("w1_scale"))->num_elements(), 4);
  EXPECT_EQ(model.graph.constant(model.graph.FindValue("b1_int32"))->dtype(), DType::kInt32);
}

// A step is 1/255 of the range, about eight deviations of a normal value: 3% of one, by the root of
// 12 about a hundredth, squared 1e-4 for each of a handful of roundings.
TEST_F(StaticInt8, LosesWhatEightBitsCost) {
  const Model model = SmallNet();
  const Tensor x = Normal({4, 2, 8, 8}, 99);
  const Session::Outputs expected = OutputsOf(model, x);
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy, RangeMethod::kMse}) {
    const Model quantized = Quantized(model, {.method = method});
    EXPECT_LT(Loss(expected, OutputsOf(quantized, x, false)), 2e-3) << static_cast<int>(method);
    EXPECT_LT(Loss(expected, OutputsOf(quantized, x)), 2e-3) << static_cast<int>(method);
  }
}

TEST_F(StaticInt8, OnnxRuntimeRunsTheResult) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers onnxruntime installs it";
  const Model quantized = Quantized(SmallNet());
  const Tensor x = Normal({4, 2, 8, 8}, 99);
  const auto peer = testing::RunInOnnxRuntime(quantized, {{"x", Value(x)}});
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_LT(Loss(*peer, OutputsOf(quantized, x)), 1e-3);
}

TEST_F(StaticInt8, RefusesWhatIsQuantizedAndWhatIsNotFinite) {
  Model model = Quantized(SmallNet());
  EXPECT_THAT(std::string(PrepareProducts(model).message()),
              HasSubstr("the model is quantized already"));
  Tensor bad = Normal({1, 2, 8, 8}, 1);
  bad.mutable_data<float>()[0] = NAN;
  ASSERT_TRUE(files::WriteNpy(bad, directory_.path("bad.npy")).ok());
  const Model plain = SmallNet();
  const auto set = CalibrationSet::Open(directory_.path(), plain.graph);
  EXPECT_THAT(
      std::string(
          CalibrateRanges(plain, *set, ValuesOfInt8(plain.graph), {}, {}).status().message()),
      HasSubstr("infinite or NaN, for which there is no range"));
}

// A bell with one element far away: min-max keeps it, the others give it up for smaller steps.
TEST(Ranges, OutliersAreWorthLittle) {
  Histogram histogram{-100, 100, std::vector<int64_t>(2048)};
  for (size_t i = 0; i < 2048; ++i) {
    const double x = -100 + (static_cast<double>(i) + 0.5) * 200 / 2048;
    histogram.counts[i] = static_cast<int64_t>(1e6 * std::exp(-x * x / 200));
  }
  histogram.counts[2047] = 1;
  EXPECT_EQ(ChooseRange(histogram, {}).high, 100);
  for (const RangeMethod method :
       {RangeMethod::kPercentile, RangeMethod::kEntropy, RangeMethod::kMse}) {
    const ValueRange range = ChooseRange(histogram, {.method = method});
    EXPECT_LT(range.high, 70) << static_cast<int>(method);
    EXPECT_GT(range.high, 25) << static_cast<int>(method);
    EXPECT_LT(range.low, -25) << static_cast<int>(method);
  }
}

}  // namespace
}  // namespace onward::quantization
