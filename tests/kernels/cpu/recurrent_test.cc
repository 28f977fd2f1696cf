// RNN, LSTM and GRU, mostly of pairs of bfloat16, against loops in double that round what is
// multiplied.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/kernels/cpu/recurrent_loops.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomBFloats;
using testing::RandomFloats;

struct Sizes {
  std::string op;
  int64_t gates, steps, batch, input, hidden, directions;
  bool linear_before_reset = true;  // of a GRU
  std::vector<int32_t> lens = {};   // empty: all sequences have `steps`
  bool pairs = true;                // products round the state
  bool keeps_gates = false;         // onward.LstmWithGates
  bool relu = false;                // of an RNN, in its last direction

  int64_t length(int64_t n) const { return lens.empty() ? steps : lens[static_cast<size_t>(n)]; }
};

// The next h of a unit from what W and R give its gates; updates c. The GRU is linear before reset.
double Next(const std::string& op, const std::vector<double>& x, const std::vector<double>& r,
            double h, double& c) {
  if (op == "RNN") return std::tanh(x[0] + r[0]);
  if (op == "GRU") {
    const double update = Sigmoid(x[0] + r[0]), reset = Sigmoid(x[1] + r[1]);
    return (1 - update) * std::tanh(x[2] + reset * r[2]) + update * h;
  }
  c = Sigmoid(x[2] + r[2]) * c + Sigmoid(x[0] + r[0]) * std::tanh(x[3] + r[3]);
  return Sigmoid(x[1] + r[1]) * std::tanh(c);
}

// The state that a GRU multiplies, whose reset gate has W's sums x and R's sums r.
double Reset(double x, double r, double h) { return Rounded(Sigmoid(x + r) * h); }

// One sequence in one direction. Inputs: X, W, R, B, -, initial h (and c); y and the last states.
void RunSequence(const Sizes& s, int64_t d, int64_t n, const std::vector<Tensor>& in,
                 std::vector<Tensor>& out) {
  const int64_t rows = s.gates * s.hidden, state = (d * s.batch + n) * s.hidden;
  std::vector<double> h(s.hidden), c(s.hidden), next(s.hidden), x(s.gates), r(s.gates);
  std::vector<double> reset(s.hidden);
  for (int64_t u = 0; u < s.hidden; ++u) {
    h[u] = At(in[5], state + u);
    if (s.op == "LSTM") c[u] = At(in[6], state + u);
  }
  for (int64_t i = 0; i < s.length(n); ++i) {
    const int64_t time = d == 1 ? s.length(n) - 1 - i : i;
    // Gate `g` of unit `u`: what W and R give, the state being `state_of(k)`.
    const auto sum = [&](int64_t g, int64_t u, const auto& state_of) {
      const int64_t row = d * rows + g * s.hidden + u, bias = 2 * d * rows + g * s.hidden + u;
      x[g] = At(in[3], bias), r[g] = At(in[3], bias + rows);
      for (int64_t k = 0; k < s.input; ++k)
        x[g] += At(in[1], row * s.input + k) * At(in[0], (time * s.batch + n) * s.input + k);
      for (int64_t k = 0; k < s.hidden; ++k) r[g] += At(in[2], row * s.hidden + k) * state_of(k);
    };
    const auto rounded = [&](int64_t k) { return s.pairs ? Rounded(h[k]) : h[k]; };
    for (int64_t u = 0; u < s.hidden && !s.linear_before_reset; ++u) {
      sum(1, u, rounded);
      reset[u] = Reset(x[1], r[1], h[u]);
    }
    for (int64_t u = 0; u < s.hidden; ++u) {
      for (int64_t g = 0; g < s.gates; ++g) sum(g, u, rounded);
      for (int64_t g = 0; s.keeps_gates && g < s.gates; ++g) {
        const int64_t at = (d * s.steps + time) * s.batch + n;
        out[3].mutable_data<float>()[at * rows + g * s.hidden + u] =
            static_cast<float>(x[g] + r[g]);
      }
      if (!s.linear_before_reset) {
        sum(2, u, [&](int64_t k) { return reset[k]; });
        next[u] = std::tanh(x[2] + r[2]);
        next[u] += Sigmoid(x[0] + r[0]) * (h[u] - next[u]);
      } else if (s.relu && d + 1 == s.directions) {
        next[u] = std::max(0.0, x[0] + r[0]);
      } else {
        next[u] = Next(s.op, x, r, h[u], c[u]);
      }
      out[0].mutable_data<float>()[((time * s.directions + d) * s.batch + n) * s.hidden + u] =
          static_cast<float>(next[u]);
    }
    h = next;
  }
  for (int64_t u = 0; u < s.hidden; ++u) {
    out[1].mutable_data<float>()[state + u] = static_cast<float>(h[u]);
    if (s.op == "LSTM") out[2].mutable_data<float>()[state + u] = static_cast<float>(c[u]);
  }
}

OpCase RandomCase(const Sizes& s, std::mt19937& random) {
  OpCase op;
  op.name = absl::StrCat(s.op, " ", s.steps, "x", s.batch, "x", s.input, " to ", s.hidden);
  op.op = s.op;
  op.attributes = {{"hidden_size", s.hidden},
                   {"direction", std::string(s.directions == 2 ? "bidirectional" : "forward")}};
  if (s.op == "GRU")
    op.attributes.Set("linear_before_reset", static_cast<int64_t>(s.linear_before_reset));
  if (s.relu) {
    std::vector<std::string> activations(static_cast<size_t>(s.directions), "Tanh");
    activations.back() = "Relu";
    op.attributes.Set("activations", activations);
  }
  const int64_t rows = s.gates * s.hidden;
  const Dims state = {s.directions, s.batch, s.hidden};
  op.inputs = {RandomBFloats({s.steps, s.batch, s.input}, random),
               RandomBFloats({s.directions, rows, s.input}, random),
               RandomBFloats({s.directions, rows, s.hidden}, random),
               RandomFloats({s.directions, 2 * rows}, random),
               s.lens.empty() ? Tensor() : Tensor::Of<int32_t>({s.batch}, s.lens),
               RandomFloats(state, random)};
  for (int i = 1; i < 3; ++i) {
    for (int64_t at = 0; at < op.inputs[i].num_elements(); ++at)
      op.inputs[i].mutable_data<float>()[at] *= 0.25f;  // a power of two; gates do not saturate
  }
  op.expected = {Tensor(DType::kFloat32, {s.steps, s.directions, s.batch, s.hidden}),
                 Tensor(DType::kFloat32, state)};
  std::fill_n(op.expected[0].mutable_data<float>(), op.expected[0].num_elements(), 0.0f);
  if (s.op == "LSTM") {
    op.inputs.push_back(RandomFloats(state, random));
    op.expected.emplace_back(DType::kFloat32, state);
  }
  if (s.keeps_gates) {
    op.op = "LstmWithGates";
    op.domain = "onward";
    op.expected.emplace_back(DType::kFloat32, Dims{s.directions, s.steps, s.batch, rows});
  }
  for (int64_t d = 0; d < s.directions; ++d)
    for (int64_t n = 0; n < s.batch; ++n) RunSequence(s, d, n, op.inputs, op.expected);
  // What lies close to a tie is rounded the other way now and then.
  op.rtol = op.atol = 6e-3;
  return op;
}

TEST(RecurrentKernels, PairsOfBFloat16) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(41);
  std::uniform_int_distribution<int64_t> steps(1, 6), batch(1, 30), size(1, 70);
  constexpr uint64_t kWeights = 0b1110;
  for (int i = 0; i < 45; ++i) {
    const std::string op = i % 3 == 0 ? "RNN" : i % 3 == 1 ? "GRU" : "LSTM";
    const int64_t gates = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 4;
    const Sizes s = {op,           gates,        steps(random), batch(random),
                     size(random), size(random), i % 4 / 3 + 1, op != "GRU" || i % 2 == 0};
    EXPECT_EQ(ExpectFastKernels(RandomCase(s, random), kWeights, Precision::kFast),
              2 * testing::NumBf16Targets());
  }
  // X's operands are packed once.
  const Sizes large = {"LSTM", 4, 5, 20, 150, 130, 1};
  EXPECT_EQ(ExpectFastKernels(RandomCase(large, random), kWeights, Precision::kFast),
            2 * testing::NumBf16Targets());
}

TEST(RecurrentKernels, LstmsKeepTheirGates) {
  std::mt19937 random(44);
  std::uniform_int_distribution<int64_t> steps(1, 6), batch(1, 30), size(1, 70);
  constexpr uint64_t kWeights = 0b1110;
  for (int i = 0; i < 20; ++i) {
    Sizes s = {"LSTM", 4, steps(random), batch(random), size(random), size(random), i % 2 + 1};
    s.keeps_gates = true;
    if (testing::NumBf16Targets() > 0) {
      EXPECT_EQ(ExpectFastKernels(RandomCase(s, random), kWeights, Precision::kFast),
                2 * testing::NumBf16Targets());
    }
    s.pairs = false;
    OpCase c = RandomCase(s, random);
    c.rtol = c.atol = 2e-5;
    EXPECT_GT(ExpectFastKernels(c, kWeights), 1);
  }
}

TEST(RecurrentKernels, RnnsWithRelu) {
  std::mt19937 random(45);
  std::uniform_int_distribution<int64_t> steps(1, 6), batch(1, 30), size(1, 70);
  for (int i = 0; i < 20; ++i) {
    Sizes s = {"RNN", 1, steps(random), batch(random), size(random), size(random), i % 2 + 1};
    s.relu = true;
    s.pairs = false;
    OpCase c = RandomCase(s, random);
    c.rtol = c.atol = 1e-4;
    EXPECT_GT(ExpectFastKernels(c, 0b1110), 1);
  }
}

std::vector<int32_t> RandomLens(int64_t batch, int64_t steps, std::mt19937& random) {
  std::vector<int32_t> lens(static_cast<size_t>(batch));
  for (int32_t& length : lens)
    length = std::uniform_int_distribution<int32_t>(0, static_cast<int32_t>(steps))(random);
  return lens;
}

TEST(RecurrentKernels, PairsOfBFloat16WithSequenceLens) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(43);
  std::uniform_int_distribution<int64_t> steps(1, 6), batch(1, 30), size(1, 70);
  for (int i = 0; i < 24; ++i) {
    const std::string op = i % 3 == 0 ? "RNN" : i % 3 == 1 ? "GRU" : "LSTM";
    const int64_t gates = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 4;
    Sizes s = {op,           gates,        steps(random), batch(random),
               size(random), size(random), i % 4 / 3 + 1, op != "GRU" || i % 2 == 0};
    s.lens = RandomLens(s.batch, s.steps, random);
    EXPECT_EQ(ExpectFastKernels(RandomCase(s, random), 0b1110, Precision::kFast),
              2 * testing::NumBf16Targets());
  }
}

// Against the reference kernel, which the standard's cases hold.
TEST(RecurrentKernels, SequenceLensInEveryDirectionAndLayout) {
  std::uniform_int_distribution<int64_t> steps(1, 6), batch(1, 30), size(1, 40);
  const std::string directions[] = {"forward", "reverse", "bidirectional"};
  for (unsigned seed = 0; seed < 72; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const std::string op = seed % 3 == 0 ? "RNN" : seed % 3 == 1 ? "GRU" : "LSTM";
    const int64_t gates = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 3 : 4;
    Sizes s = {op,
               gates,
               steps(random),
               batch(random),
               size(random),
               size(random),
               seed / 3 % 3 == 2 ? 2 : 1,
               op != "GRU" || seed / 9 % 2 == 0};
    s.lens = RandomLens(s.batch, s.steps, random);
    OpCase c = RandomCase(s, random);
    c.attributes.Set("direction", directions[seed / 3 % 3]);
    if (seed / 18 % 2 == 1) {
      c.attributes.Set("layout", int64_t{1});
      c.inputs[0] = c.inputs[0].Reshaped({s.batch, s.steps, s.input});
      c.expected[0] = c.expected[0].Reshaped({s.batch, s.steps, s.directions, s.hidden});
      for (size_t i = 5; i < c.inputs.size(); ++i)
        c.inputs[i] = c.inputs[i].Reshaped({s.batch, s.directions, s.hidden});
      for (size_t i = 1; i < c.expected.size(); ++i)
        c.expected[i] = c.expected[i].Reshaped({s.batch, s.directions, s.hidden});
    }
    for (const auto& [entry, target] : testing::KernelsPerTarget(c)) {
      if (!entry.name.ends_with("_reference")) continue;
      auto expected = testing::RunKernel(entry, c);
      ASSERT_TRUE(expected.ok()) << expected.status();
      c.expected = *std::move(expected);
    }
    c.rtol = c.atol = 2e-6;
    EXPECT_GT(ExpectFastKernels(c, 0b1110), 1);
  }
}

}  // namespace
}  // namespace onward::kernels
