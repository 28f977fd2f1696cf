// LSTM, GRU and RNN of every float, in all directions and layouts, with and without what is
// optional.
#include <gmock/gmock.h>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};

struct Case {
  std::string op = "LSTM";
  DType dtype = DType::kFloat32;
  std::string direction = "forward";
  std::string attributes = {};
  int64_t steps = 4, batch = 3, input = 5, hidden = 6;
  bool batch_first = false;
  bool has_bias = true, has_states = true;
  std::vector<int32_t> lens = {};         // sequence_lens, if there are any
  std::vector<std::string> outputs = {};  // "" where omitted; all where there are none
};

// Numbers in [-1, 1], in which the gates do not saturate.
Tensor Small(DType dtype, const Dims& dims, uint32_t seed) {
  Tensor tensor = Filled({dtype, dims}, seed, false);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      T& element = tensor.mutable_data<T>()[i];
      element = static_cast<T>(static_cast<float>(element) / 4);
    }
  });
  return tensor;
}

struct NodeGraph {
  std::string text;
  std::vector<Tensor> inputs;
};

NodeGraph GraphOf(const Case& one) {
  const bool is_lstm = one.op == "LSTM";
  const int64_t directions = one.direction == "bidirectional" ? 2 : 1;
  const int64_t gates = is_lstm ? 4 : one.op == "GRU" ? 3 : 1;
  const int64_t width = gates * one.hidden;
  const Dims x = one.batch_first ? Dims{one.batch, one.steps, one.input}
                                 : Dims{one.steps, one.batch, one.input};
  const Dims y = one.batch_first ? Dims{one.batch, one.steps, directions, one.hidden}
                                 : Dims{one.steps, directions, one.batch, one.hidden};
  const Dims state = one.batch_first ? Dims{one.batch, directions, one.hidden}
                                     : Dims{directions, one.batch, one.hidden};
  std::vector<Tensor> inputs = {Small(one.dtype, x, 1),
                                Small(one.dtype, {directions, width, one.input}, 2),
                                Small(one.dtype, {directions, width, one.hidden}, 3)};
  std::vector<std::string> names = {"a", "b", "c"};
  const auto add = [&](bool has, const Dims& dims, uint32_t seed) {
    names.push_back(has ? std::string(1, static_cast<char>('a' + inputs.size())) : "");
    if (has) inputs.push_back(Small(one.dtype, dims, seed));
  };
  add(one.has_bias, {directions, 2 * width}, 4);
  names.push_back(one.lens.empty() ? "" : std::string(1, static_cast<char>('a' + inputs.size())));
  if (!one.lens.empty())
    inputs.push_back(Tensor::Of<int32_t>({one.batch}, absl::MakeConstSpan(one.lens)));
  add(one.has_states, state, 5);
  if (is_lstm) add(one.has_states, state, 6);
  while (names.back().empty()) names.pop_back();
  std::vector<std::string> outputs = one.outputs, declared;
  if (outputs.empty()) outputs = {"y", "y_h", "y_c"};
  if (!is_lstm && outputs.size() > 2) outputs.pop_back();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].empty())
      declared.push_back(absl::StrCat(TextOf({one.dtype, i == 0 ? y : state}), " ", outputs[i]));
    else
      outputs[i] = "\"\"";
  }
  for (std::string& name : names)
    if (name.empty()) name = "\"\"";
  return {absl::StrCat("(", absl::StrJoin(declared, ", "), ") { ", absl::StrJoin(outputs, ", "),
                       " = ", one.op, " <hidden_size = ", one.hidden, ", direction = \"",
                       one.direction, "\", layout = ", one.batch_first ? 1 : 0, one.attributes,
                       "> (", absl::StrJoin(names, ", "), ") }"),
          inputs};
}

// In 16 bits, products and the states that they read are rounded at every step.
void ExpectCaseAsCpu(const Case& one) {
  const NodeGraph graph = GraphOf(one);
  ExpectAsCpu(graph.text, graph.inputs, 10 * ToleranceOf(one.dtype));
}

std::vector<Case> EveryOp() {
  return {{.op = "LSTM"},
          {.op = "RNN"},
          {.op = "GRU", .attributes = ", linear_before_reset = 0"},
          {.op = "GRU", .attributes = ", linear_before_reset = 1"}};
}

TEST(EmulatedRecurrent, DirectionsAndOptionalInputsAreTheCpus) {
  for (Case one : EveryOp()) {
    for (const DType dtype : kFloats) {
      for (const char* direction : kDirections) {
        for (const bool is_given : {false, true}) {
          one.dtype = dtype;
          one.direction = direction;
          one.has_bias = one.has_states = is_given;
          ExpectCaseAsCpu(one);
        }
      }
    }
  }
}

TEST(EmulatedRecurrent, BatchFirstIsTheCpus) {
  for (Case one : EveryOp()) {
    for (const char* direction : kDirections) {
      one.direction = direction;
      one.batch_first = true;
      ExpectCaseAsCpu(one);
    }
  }
}

TEST(EmulatedRecurrent, SequencesOfManyLengthsAreTheCpus) {
  for (Case one : EveryOp()) {
    one.lens = {4, 0, 2};
    for (const DType dtype : kFloats) {
      for (const char* direction : kDirections) {
        for (const bool batch_first : {false, true}) {
          one.dtype = dtype;
          one.direction = direction;
          one.batch_first = batch_first;
          ExpectCaseAsCpu(one);
        }
      }
    }
    one.lens = {1, 3, 3};  // all end before the last step
    ExpectCaseAsCpu(one);
  }
}

TEST(EmulatedRecurrent, LengthsOutOfRangeAreNamed) {
  Configure({});
  for (Case one : EveryOp()) {
    for (const int32_t length : {-1, 5}) {
      one.direction = "bidirectional";
      one.lens = {4, length, 2};
      const NodeGraph graph = GraphOf(one);
      const absl::Status status = RunOn("cuda", graph.text, graph.inputs).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(status.message(), ::testing::HasSubstr(absl::StrCat(length)));
    }
  }
}

TEST(EmulatedRecurrent, OmittedOutputsAreTheCpus) {
  const std::vector<std::string> outputs[] = {
      {"y"}, {"", "y_h"}, {"y", "", "y_c"}, {"", "", "y_c"}};
  for (Case one : EveryOp()) {
    for (const auto& names : outputs) {
      if (one.op != "LSTM" && names.size() > 2) continue;
      one.outputs = names;
      one.direction = "bidirectional";
      ExpectCaseAsCpu(one);
    }
  }
}

// No steps, no sequences, no inputs, no units, one of each, and more units than a block has.
TEST(EmulatedRecurrent, UnusualSizesAreTheCpus) {
  constexpr int64_t kSizes[][4] = {{0, 2, 3, 4}, {3, 0, 2, 4}, {3, 2, 0, 4},  {3, 2, 5, 0},
                                   {1, 1, 1, 1}, {2, 1, 3, 7}, {2, 2, 3, 261}};
  for (Case one : EveryOp()) {
    for (const auto& [steps, batch, input, hidden] : kSizes) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
        one.dtype = dtype;
        one.steps = steps;
        one.batch = batch;
        one.input = input;
        one.hidden = hidden;
        one.direction = "bidirectional";
        ExpectCaseAsCpu(one);
      }
    }
  }
}

TEST(EmulatedRecurrent, LongSequencesAreTheCpus) {
  for (Case one : EveryOp()) {
    one.steps = 50;
    one.direction = "bidirectional";
    ExpectCaseAsCpu(one);
  }
}

TEST(EmulatedRecurrent, AnRnnMayHaveRelu) {
  for (const DType dtype : kFloats) {
    ExpectCaseAsCpu({.op = "RNN",
                     .dtype = dtype,
                     .direction = "bidirectional",
                     .attributes = ", activations = [\"Relu\", \"Relu\"]"});
  }
}

TEST(EmulatedRecurrent, AStepIsOneProductAndOneKernel) {
  const NodeGraph graph = GraphOf({.direction = "bidirectional", .steps = 5});
  Configure({});
  ASSERT_TRUE(RunOn("cuda", graph.text, graph.inputs).ok());
  EXPECT_EQ(Counted().products, 1 + 5);
  EXPECT_EQ(Counted().launches, 1 + 5);
}

// From the second run on the device starts what it recorded.
TEST(EmulatedRecurrent, RecordedRunsAreTheCpus) {
  const auto constant = [](const Dims& dims, const char* name, uint32_t seed) {
    const Tensor tensor = Small(DType::kFloat32, dims, seed);
    return absl::StrCat(TextOf({DType::kFloat32, dims}), " ", name, " = {",
                        absl::StrJoin(tensor.span<float>(), ", "), "}");
  };
  const std::string text =
      absl::StrCat("g (float[4, 3, 5] x) => (float[1, 3, 6] y) <", constant({1, 24, 5}, "w", 1),
                   ", ", constant({1, 24, 6}, "r", 2), ", ", constant({1, 18, 6}, "v", 3),
                   "> { t = Tanh (x) a, b = LSTM <hidden_size = 6> (t, w, r) "
                   "c, d = GRU <hidden_size = 6> (b, v, v) y = Neg (d) }");
  Configure({.order = Order::kLate});
  std::unique_ptr<Session> sessions[2];
  for (const char* provider : {"cpu", "cuda"}) {
    SessionOptions options;
    options.provider = provider;
    auto session = Session::Create(testing::ModelFromText(text).value(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    sessions[provider == std::string("cuda")] = *std::move(session);
  }
  for (uint32_t run = 0; run < 4; ++run) {
    const Session::Inputs inputs = {{"x", Value(Small(DType::kFloat32, {4, 3, 5}, 4 + run))}};
    const auto expected = sessions[0]->Run(inputs), actual = sessions[1]->Run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_EQ(testing::Difference(actual->at("y").tensor(), expected->at("y").tensor(), 1e-4, 1e-4),
              "");
  }
  EXPECT_EQ(Counted().graph_launches, 3);
  Configure({});
}

// The reason for which the device leaves the node to the CPU.
std::string RefusalOf(const std::string& text, const std::vector<Tensor>& inputs) {
  std::string parameters;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DimsView dims = inputs[i].dims();
    absl::StrAppend(&parameters, i == 0 ? "" : ", ",
                    TextOf({inputs[i].dtype(), Dims(dims.begin(), dims.end())}), " ",
                    std::string(1, static_cast<char>('a' + i)));
  }
  SessionOptions options;
  options.provider = "cuda";
  options.plan_only = true;  // it alone keeps the reasons of devices
  auto model = testing::ModelFromText(absl::StrCat("g (", parameters, ") => ", text));
  if (!model.ok()) return model.status().ToString();
  const auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return session.status().ToString();
  std::string refusals;
  for (const NodeExplanation& node : (*session)->Explain())
    absl::StrAppend(&refusals, absl::StrJoin(node.refusals, "; "));
  return refusals;
}

TEST(EmulatedRecurrent, SaysWhatItRefuses) {
  const char* const cases[][2] = {
      {", activations = [\"Relu\", \"Tanh\", \"Tanh\"]", "only the default activations"},
      {", clip = 2.0", "clip is set"},
      {", input_forget = 1", "input_forget is set"},
  };
  for (const auto& [attributes, reason] : cases) {
    const NodeGraph graph = GraphOf({.attributes = attributes});
    EXPECT_NE(RefusalOf(graph.text, graph.inputs).find(reason), std::string::npos)
        << RefusalOf(graph.text, graph.inputs);
  }
  const NodeGraph mixed = GraphOf({.op = "RNN",
                                   .direction = "bidirectional",
                                   .attributes = ", activations = [\"Relu\", \"Tanh\"]"});
  EXPECT_NE(RefusalOf(mixed.text, mixed.inputs).find("only the default activations"),
            std::string::npos);
  const std::vector<Tensor> inputs = {Small(DType::kFloat32, {4, 3, 5}, 1),
                                      Small(DType::kFloat32, {1, 24, 5}, 2),
                                      Small(DType::kFloat32, {1, 24, 6}, 3)};
  std::vector<Tensor> with_peepholes = inputs;
  with_peepholes.push_back(Small(DType::kFloat32, {1, 18}, 4));
  EXPECT_NE(RefusalOf("(float[4, 1, 3, 6] y) { y = LSTM <hidden_size = 6> "
                      "(a, b, c, \"\", \"\", \"\", \"\", d) }",
                      with_peepholes)
                .find("peepholes are given"),
            std::string::npos);
}

}  // namespace
}  // namespace onward::emulated_cuda
