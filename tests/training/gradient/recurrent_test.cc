// Gradients of LSTM, GRU and RNN: finite differences of our kernels in every variant, and ONNX
// Runtime. What PyTorch returns for the cells that it has is in cases/recurrent.txt.
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "tests/training/gradient/gradient_checks.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

constexpr int64_t kSteps = 4, kBatch = 3, kWidth = 2, kHidden = 2;

struct Variant {
  std::string name, op;
  Attributes attributes = {};
  bool bias = true, lens = false, states = true, peepholes = false;
  bool outputs_y = true, outputs_states = true;
};

using Names = std::vector<std::string>;

std::vector<Variant> Variants() {
  const std::string both = "bidirectional", reverse = "reverse";
  return {
      {"lstm", "LSTM"},
      {"lstm_plain", "LSTM", {}, false, false, false},
      {"lstm_only_states", "LSTM", {}, true, true, true, false, false, true},
      {"lstm_only_y", "LSTM", {{"direction", both}}, true, true, false, false, true, false},
      {"lstm_peepholes_reverse", "LSTM", {{"direction", reverse}}, true, true, true, true},
      {"lstm_everything",
       "LSTM",
       {{"direction", both}, {"layout", int64_t{1}}, {"clip", 0.7f}, {"input_forget", int64_t{1}}},
       true,
       true,
       true,
       true},
      {"lstm_activations",
       "LSTM",
       {{"direction", both},
        {"activations",
         Names{"HardSigmoid", "Softsign", "ScaledTanh", "Sigmoid", "Elu", "LeakyRelu"}},
        {"activation_alpha", std::vector<float>{0.3f, 1.5f, 0.7f, 0.1f}},
        {"activation_beta", std::vector<float>{0.6f, 0.8f}}}},
      {"gru", "GRU"},
      {"gru_linear", "GRU", {{"linear_before_reset", int64_t{1}}, {"direction", both}}, true, true},
      {"gru_linear_plain", "GRU", {{"linear_before_reset", int64_t{1}}}, false},
      {"gru_layout",
       "GRU",
       {{"layout", int64_t{1}}, {"direction", reverse}, {"clip", 0.5f}},
       true,
       true},
      {"gru_activations",
       "GRU",
       {{"activations", Names{"Affine", "Softplus"}},
        {"activation_alpha", std::vector<float>{0.4f}},
        {"activation_beta", std::vector<float>{0.3f}}}},
      {"rnn", "RNN", {{"direction", both}}, true, true},
      {"rnn_relu", "RNN", {{"activations", Names{"Relu"}}, {"layout", int64_t{1}}}},
      {"rnn_thresholded",
       "RNN",
       {{"activations", Names{"ThresholdedRelu"}}, {"activation_alpha", std::vector<float>{0.1f}}}},
  };
}

struct Built {
  Model model;
  Session::Inputs inputs;
};

absl::StatusOr<Built> Build(const Variant& v, bool symbolic, DType dtype = DType::kFloat64) {
  GraphBuilder builder;
  Session::Inputs inputs;
  unsigned seed = 5;
  const auto input = [&](const std::string& name, const Dims& dims, SymbolicDims shape) {
    if (!symbolic) shape = SymbolicDims(dims.begin(), dims.end());
    inputs[name] = dtype == DType::kFloat64 ? Doubles(dims, seed++) : Floats(dims, seed++);
    return builder.Input(name, Type::Tensor(dtype, std::move(shape)));
  };
  const int64_t gates = v.op == "LSTM" ? 4 : v.op == "GRU" ? 3 : 1;
  const int64_t d = v.attributes.String("direction") == "bidirectional" ? 2 : 1;
  const bool layout = v.attributes.Int("layout", 0) != 0;
  const Dim t = SymbolDim("t"), n = SymbolDim("n");
  std::vector<Expr> in(8);
  in[0] = layout ? input("x", {kBatch, kSteps, kWidth}, {n, t, kWidth})
                 : input("x", {kSteps, kBatch, kWidth}, {t, n, kWidth});
  in[1] = input("w", {d, gates * kHidden, kWidth}, {d, gates * kHidden, kWidth});
  in[2] = input("r", {d, gates * kHidden, kHidden}, {d, gates * kHidden, kHidden});
  if (v.bias) in[3] = input("b", {d, 2 * gates * kHidden}, {d, 2 * gates * kHidden});
  if (v.lens) in[4] = builder.Constant(Tensor::Of<int32_t>({kBatch}, {2, kSteps, 1}), "lens");
  for (const int i : {5, 6}) {
    if (!v.states || (i == 6 && v.op != "LSTM")) continue;
    in[static_cast<size_t>(i)] =
        layout ? input(absl::StrCat("state", i), {kBatch, d, kHidden}, {n, d, kHidden})
               : input(absl::StrCat("state", i), {d, kBatch, kHidden}, {d, n, kHidden});
  }
  if (v.peepholes) in[7] = input("p", {d, 3 * kHidden}, {d, 3 * kHidden});
  Attributes attributes = v.attributes;
  attributes.Set("hidden_size", kHidden);
  std::vector<bool> wanted(v.op == "LSTM" ? 3 : 2, v.outputs_states);
  wanted[0] = v.outputs_y;
  const std::vector<Expr> out = builder.OpsWanted(v.op, in, wanted, attributes);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].valid()) builder.Output(absl::StrCat("out", i), out[i]);
  }
  absl::StatusOr<Model> model = builder.Build();
  if (!model.ok()) return model.status();
  return Built{*std::move(model), std::move(inputs)};
}

TEST(RecurrentGradient, AgreesWithFiniteDifferences) {
  for (const Variant& variant : Variants()) {
    for (const bool symbolic : {false, true}) {
      SCOPED_TRACE(absl::StrCat(variant.name, symbolic ? " symbolic" : ""));
      const auto built = Build(variant, symbolic);
      ASSERT_TRUE(built.ok()) << built.status();
      ExpectFiniteDifferences(built->model, built->inputs);
    }
  }
}

// ONNX Runtime has these ops in float, without layout 1 and with its own idea of some activations.
TEST(RecurrentGradient, RunsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  for (const Variant& variant : Variants()) {
    if (variant.attributes.Has("layout") || variant.attributes.Has("activations")) continue;
    SCOPED_TRACE(variant.name);
    const auto built = Build(variant, true, DType::kFloat32);
    ASSERT_TRUE(built.ok()) << built.status();
    ExpectSameInOnnxRuntime(built->model, built->inputs, 2e-5, DType::kFloat32);
  }
}

// The kernel's gates and the formula's, which devices without such a kernel run.
TEST(RecurrentGradient, GatesAreThoseOfTheFormula) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    SCOPED_TRACE(direction);
    const int64_t d = direction == std::string("bidirectional") ? 2 : 1;
    for (const bool all_inputs : {false, true}) {
      GraphBuilder builder;
      Session::Inputs inputs;
      const auto input = [&](const std::string& name, const Dims& dims) {
        inputs[name] = Floats(dims, static_cast<unsigned>(inputs.size()));
        return builder.Input(name,
                             Type::Tensor(DType::kFloat32, SymbolicDims(dims.begin(), dims.end())));
      };
      std::vector<Expr> in = {input("x", {kSteps, kBatch, kWidth}), input("w", {d, 20, kWidth}),
                              input("r", {d, 20, 5})};
      if (all_inputs) {
        in.insert(in.end(), {input("b", {d, 40}), Expr(), input("h", {d, kBatch, 5}),
                             input("c", {d, kBatch, 5})});
      }
      const std::vector<Expr> out =
          builder.Ops("LstmWithGates", in, 4, {{"direction", std::string(direction)}}, "onward");
      for (size_t i = 0; i < out.size(); ++i) builder.Output(absl::StrCat("out", i), out[i]);
      const absl::StatusOr<Model> model = builder.Build();
      ASSERT_TRUE(model.ok()) << model.status();
      SessionOptions options;
      const auto fast = Session::Create(*model, options);
      options.reference_kernels = true;
      const auto formula = Session::Create(*model, options);
      ASSERT_TRUE(fast.ok() && formula.ok()) << fast.status() << formula.status();
      const auto ours = (*fast)->Run(inputs), expected = (*formula)->Run(inputs);
      ASSERT_TRUE(ours.ok() && expected.ok()) << ours.status() << expected.status();
      for (const auto& [name, value] : *expected)
        EXPECT_EQ(testing::Difference(ours->at(name).tensor(), value.tensor(), 1e-5, 1e-6), "");
    }
  }
}

}  // namespace
}  // namespace onward::training
