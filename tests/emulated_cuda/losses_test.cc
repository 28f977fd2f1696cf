// Losses over classes and their gradient: labels lie on the device, which finds bad ones.
#include <random>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

Tensor LabelsBelow(int64_t classes, DType dtype, const Dims& dims, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor labels(dtype, dims);
  for (int64_t i = 0; i < labels.num_elements(); ++i) {
    const auto label = static_cast<int64_t>(random() % static_cast<uint32_t>(classes));
    if (dtype == DType::kInt32) {
      labels.mutable_data<int32_t>()[i] = static_cast<int32_t>(label);
    } else {
      labels.mutable_data<int64_t>()[i] = label;
    }
  }
  return labels;
}

// Positive, so that no sum of them is near 0.
Tensor WeightsOf(int64_t classes, DType dtype) {
  Tensor weights(dtype, {classes});
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < classes; ++i)
      weights.mutable_data<T>()[i] = static_cast<T>(static_cast<float>(i * 7 % 5 + 1) / 4);
  });
  return weights;
}

Dims LabelsOf(const Dims& scores) {
  Dims labels = scores;
  labels.erase(labels.begin() + 1);
  return labels;
}

// Rows of warps and of blocks, columns, several axes, none.
const Dims kScores[] = {{3, 5},          {1, 1}, {2, 1500},    {70, 33},    {2, 7, 4}, {1, 40, 70},
                        {2, 3, 5, 2, 2}, {0, 4}, {3, 4, 0, 2}, {2, 300, 2}, {3, 4099}};

// Every reduction with and without weights; ignored labels are some or none, by turns.
void ExpectLosses(const char* op, const Dims& dims, DType dtype, bool log_prob) {
  constexpr const char* kIgnored[] = {"", ", ignore_index = 1", ", ignore_index = -5",
                                      ", ignore_index = 0"};
  const Operand scores = {dtype, dims};
  const Dims labels = LabelsOf(dims);
  std::vector<Tensor> inputs = {
      Filled(scores, 1, false),
      LabelsBelow(dims[1], log_prob ? DType::kInt32 : DType::kInt64, labels, 3)};
  size_t turn = dims.size() + (log_prob ? 1 : 0);
  for (const bool weighted : {false, true}) {
    if (weighted) inputs.push_back(WeightsOf(dims[1], dtype));
    for (const char* reduction : {"none", "sum", "mean"}) {
      const Operand y = {dtype, std::string(reduction) == "none" ? labels : Dims{}};
      ExpectAsCpu(absl::StrCat("(", TextOf(y), " y", log_prob ? ", " + TextOf(scores) + " z" : "",
                               ") { y", log_prob ? ", z" : "", " = ", op, " <reduction = \"",
                               reduction, "\"", kIgnored[turn++ % std::size(kIgnored)], "> (a, b",
                               weighted ? ", c" : "", ") }"),
                  inputs, 4 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedLosses, CrossEntropiesAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : kScores) {
      ExpectLosses("SoftmaxCrossEntropyLoss", dims, dtype, false);
      ExpectLosses("SoftmaxCrossEntropyLoss", dims, dtype, true);
    }
  }
}

// Some have more labels than one block sums.
TEST(EmulatedLosses, LogLikelihoodsAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : kScores) ExpectLosses("NegativeLogLikelihoodLoss", dims, dtype, false);
    for (const Dims& dims : {Dims{4200, 3}, Dims{2, 3, 30000}})
      ExpectLosses("NegativeLogLikelihoodLoss", dims, dtype, false);
  }
}

TEST(EmulatedLosses, GradientsAreTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : kScores) {
      for (const DType label : {DType::kInt32, DType::kInt64}) {
        const Dims labels = LabelsOf(dims);
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, dims}),
                                 " y) { y = onward.SoftmaxCrossEntropyLossGradient (a, b, c) }"),
                    {Filled({dtype, dims}, 1, false), LabelsBelow(dims[1], label, labels, 2),
                     Filled({dtype, labels}, 3, false)},
                    4 * ToleranceOf(dtype));
      }
    }
  }
}

// Scores of 16 bits and what is computed of them in float.
TEST(EmulatedLosses, OfNarrowScoresAreTheCpus) {
  for (const DType narrow : {DType::kFloat16, DType::kBFloat16}) {
    for (const Dims& dims : kScores) {
      const Dims labels = LabelsOf(dims);
      const std::vector<Tensor> inputs = {Filled({narrow, dims}, 1, false),
                                          LabelsBelow(dims[1], DType::kInt64, labels, 2),
                                          Filled({DType::kFloat32, labels}, 3, false)};
      for (const char* reduction : {"none", "sum", "mean"}) {
        const Operand y = {DType::kFloat32, std::string(reduction) == "none" ? labels : Dims{}};
        ExpectAsCpu(absl::StrCat("(", TextOf(y), " y) { y = onward.WideSoftmaxCrossEntropyLoss ",
                                 "<reduction = \"", reduction, "\", ignore_index = 1> (a, b) }"),
                    {inputs[0], inputs[1]}, 1e-5);
      }
      ExpectAsCpu(absl::StrCat("(", TextOf({narrow, dims}),
                               " y) { y = onward.SoftmaxCrossEntropyLossGradient (a, b, c) }"),
                  inputs, 4 * ToleranceOf(narrow));
    }
  }
}

// Infinite scores and NaN, which the CPU's portable kernel has the same results for.
TEST(EmulatedLosses, ScoresThatAreNotFinite) {
  for (const Dims& dims : {Dims{40, 5}, Dims{3, 6, 50}}) {
    const Dims labels = LabelsOf(dims);
    const std::vector<Tensor> inputs = {Filled({DType::kFloat64, dims}, 1, true),
                                        LabelsBelow(dims[1], DType::kInt64, labels, 2)};
    ExpectAsCpu(absl::StrCat(
                    "(", TextOf({DType::kFloat64, labels}), " y, ", TextOf({DType::kFloat64, dims}),
                    " z) { y, z = SoftmaxCrossEntropyLoss <reduction = \"none\"> (a, b) }"),
                inputs, 1e-9);
  }
}

// Classes that a mask has taken out, whole packs of them at the begin of a row and at its end.
TEST(EmulatedLosses, ClassesWithoutAProbability) {
  const Dims dims = {4, 9001}, labels = {4};
  Tensor scores = Filled({DType::kFloat32, dims}, 1, false);
  for (int64_t i = 0; i < scores.num_elements(); ++i) {
    const int64_t c = i % dims[1];
    if (c < 4100 || c > 7003 || c % 3 == 0)
      scores.mutable_data<float>()[i] = -std::numeric_limits<float>::infinity();
  }
  const Tensor classes = Tensor::Of<int64_t>(labels, {4100, 4102, 5000, 7003});
  ExpectAsCpu("(float[4] y) { y = SoftmaxCrossEntropyLoss <reduction = \"none\"> (a, b) }",
              {scores, classes}, 1e-5);
  ExpectAsCpu("(float[4, 9001] y) { y = onward.SoftmaxCrossEntropyLossGradient (a, b, c) }",
              {scores, classes, Filled({DType::kFloat32, labels}, 3, false)}, 1e-5);
}

TEST(EmulatedLosses, ALabelThatIsNoClassIsAnError) {
  const Tensor scores = Filled({DType::kFloat32, {3, 4}}, 1, false),
               dy = Filled({DType::kFloat32, {3}}, 2, false);
  for (const int64_t label : {4, -1}) {
    const Tensor labels = Tensor::Of<int64_t>({3}, {1, label, 0});
    const struct {
      const char *op, *result;
      std::vector<Tensor> inputs;
    } cases[] = {
        {"SoftmaxCrossEntropyLoss <reduction = \"none\"> (a, b)", "float[3]", {scores, labels}},
        {"NegativeLogLikelihoodLoss <reduction = \"none\"> (a, b)", "float[3]", {scores, labels}},
        {"onward.SoftmaxCrossEntropyLossGradient (a, b, c)", "float[3, 4]", {scores, labels, dy}}};
    for (const auto& one : cases) {
      for (const char* provider : {"cpu", "cuda"}) {
        const absl::Status status =
            RunOn(provider, absl::StrCat("(", one.result, " y) { y = ", one.op, " }"), one.inputs)
                .status();
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        EXPECT_NE(std::string(status.message())
                      .find(absl::StrCat(label, " at position 1 is out of range")),
                  std::string::npos)
            << status;
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
