// The way back through an LSTM, and LSTM of pairs of bfloat16, against loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/kernels/cpu/recurrent_loops.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

struct Sizes {
  int64_t steps, batch, hidden;
  bool reversed, dy;
};

// One sequence: inputs and outputs as LstmGradient's. `round`: what the product does to operands.
template <typename Round>
void SequenceBack(const Sizes& s, int64_t n, const std::vector<Tensor>& in, const Round& round,
                  std::vector<Tensor>& out) {
  const int64_t h = s.hidden;
  const auto gates_at = [&](int64_t i) {
    return ((s.reversed ? s.steps - 1 - i : i) * s.batch + n) * 4 * h;
  };
  std::vector<std::vector<double>> cells(static_cast<size_t>(s.steps + 1), std::vector<double>(h));
  for (int64_t u = 0; u < h; ++u) cells[0][u] = At(in[2], n * h + u);
  for (int64_t i = 0; i < s.steps; ++i) {
    for (int64_t u = 0; u < h; ++u) {
      const int64_t at = gates_at(i) + u;
      cells[i + 1][u] = Sigmoid(At(in[0], at + 2 * h)) * cells[i][u] +
                        Sigmoid(At(in[0], at)) * std::tanh(At(in[0], at + 3 * h));
    }
  }
  std::vector<double> dh(h), dc(h), dgates(4 * h);
  for (int64_t u = 0; u < h; ++u) dh[u] = At(in[3], n * h + u), dc[u] = At(in[4], n * h + u);
  for (int64_t i = s.steps - 1; i >= 0; --i) {
    for (int64_t u = 0; u < h; ++u) {
      const int64_t at = gates_at(i) + u;
      const double input = Sigmoid(At(in[0], at)), output = Sigmoid(At(in[0], at + h));
      const double forget = Sigmoid(At(in[0], at + 2 * h));
      const double candidate = std::tanh(At(in[0], at + 3 * h)), c = std::tanh(cells[i + 1][u]);
      const double up = dh[u] + (s.dy ? At(in[5], gates_at(i) / 4 + u) : 0);
      const double down = dc[u] + up * output * (1 - c * c);
      dgates[u] = down * candidate * input * (1 - input);
      dgates[h + u] = up * c * output * (1 - output);
      dgates[2 * h + u] = down * cells[i][u] * forget * (1 - forget);
      dgates[3 * h + u] = down * input * (1 - candidate * candidate);
      dc[u] = down * forget;
    }
    for (int64_t k = 0; k < 4 * h; ++k)
      out[0].mutable_data<float>()[gates_at(i) + k] = static_cast<float>(dgates[k]);
    for (int64_t u = 0; u < h; ++u) {
      dh[u] = 0;
      for (int64_t k = 0; k < 4 * h; ++k) dh[u] += round(dgates[k]) * At(in[1], k * h + u);
    }
  }
  for (int64_t u = 0; u < h; ++u) {
    out[1].mutable_data<float>()[n * h + u] = static_cast<float>(dh[u]);
    out[2].mutable_data<float>()[n * h + u] = static_cast<float>(dc[u]);
  }
}

template <typename Round>
OpCase BackCase(const Sizes& s, std::mt19937& random, const Round& round) {
  OpCase op;
  op.name = absl::StrCat(s.steps, "x", s.batch, "x", s.hidden, s.reversed ? " reversed" : "");
  op.op = "LstmGradient";
  op.domain = "onward";
  op.attributes = {{"reversed", int64_t{s.reversed}}};
  const Dims gates = {s.steps, s.batch, 4 * s.hidden}, state = {s.batch, s.hidden};
  op.inputs = {
      RandomFloats(gates, random, -3, 3), testing::RandomBFloats({4 * s.hidden, s.hidden}, random),
      RandomFloats(state, random), RandomFloats(state, random), RandomFloats(state, random)};
  for (int64_t i = 0; i < op.inputs[1].num_elements(); ++i)
    op.inputs[1].mutable_data<float>()[i] *= 0.125f;  // a power of two; sums stay small
  if (s.dy) op.inputs.push_back(RandomFloats({s.steps, s.batch, s.hidden}, random));
  op.expected = {Tensor(DType::kFloat32, gates), Tensor(DType::kFloat32, state),
                 Tensor(DType::kFloat32, state)};
  for (int64_t n = 0; n < s.batch; ++n) SequenceBack(s, n, op.inputs, round, op.expected);
  return op;
}

TEST(LstmGradientKernels, GoesThroughTheStepsBackwards) {
  std::mt19937 random(31);
  std::uniform_int_distribution<int64_t> steps(1, 7), batch(1, 30), hidden(1, 70);
  for (int i = 0; i < 40; ++i) {
    const Sizes s = {steps(random), batch(random), hidden(random), i % 2 == 0, i % 3 != 0};
    OpCase op = BackCase(s, random, [](double x) { return x; });
    op.rtol = op.atol = 2e-5;
    EXPECT_GE(ExpectFastKernels(op), 2);
    if (testing::NumBf16Targets() == 0) continue;
    // What lies close to a tie is rounded the other way now and then.
    OpCase pairs = BackCase(s, random, Rounded);
    if (s.hidden % 2 != 0) pairs = BackCase(s, random, [](double x) { return x; });
    pairs.rtol = pairs.atol = 4e-3;
    EXPECT_EQ(ExpectFastKernels(pairs, 0, Precision::kFast), testing::NumBf16Targets());
  }
}

TEST(LstmGradientKernels, ManyUnitsAreSharedByThreads) {
  std::mt19937 random(32);
  OpCase op = BackCase({3, 20, 130, false, true}, random, [](double x) { return x; });
  op.rtol = op.atol = 1e-4;
  EXPECT_GE(ExpectFastKernels(op), 2);
  if (testing::NumBf16Targets() == 0) return;
  OpCase pairs = BackCase({3, 20, 130, true, true}, random, Rounded);
  pairs.rtol = pairs.atol = 4e-3;
  EXPECT_EQ(ExpectFastKernels(pairs, 0, Precision::kFast), testing::NumBf16Targets());
}

TEST(LstmGradientKernels, ShapesThatDoNotFitAreErrors) {
  std::mt19937 random(33);
  OpCase op = BackCase({2, 3, 4, false, false}, random, [](double x) { return x; });
  op.inputs[3] = RandomFloats({3, 5}, random);
  for (const KernelEntry& entry : CpuKernels()) {
    if (entry.op != op.op) continue;
    const absl::Status status = testing::RunKernel(entry, op).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
  }
}

}  // namespace
}  // namespace onward::kernels
