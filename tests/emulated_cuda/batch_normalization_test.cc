// BatchNormalization and its gradient: channels of one block and of several, rows of many lengths.
#include <set>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

const Dims kShapes[] = {{3, 2, 5},       {2, 3, 4, 8},   {4, 1, 16, 16}, {7, 3},
                        {1, 2, 5000},    {9, 5, 1, 1},   {300, 2, 3},    {5, 2, 257},
                        {2, 3, 41, 103}, {40, 2, 12, 16}};

int64_t ChannelsOf(const Dims& x) { return x.size() > 1 ? x[1] : 1; }

// X, scale, B, mean and variance; the last is positive.
std::vector<Tensor> InputsFor(const Operand& x, DType parameters, bool special) {
  const Operand channel = {parameters, {ChannelsOf(x.dims)}};
  std::vector<Tensor> inputs = {Filled(x, 1, special)};
  for (uint32_t seed = 2; seed < 6; ++seed) inputs.push_back(Filled(channel, seed, false));
  DispatchDType(FloatTypes(), parameters, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < channel.dims[0]; ++i)
      inputs[4].mutable_data<T>()[i] = static_cast<T>(0.5f + static_cast<float>(i));
  });
  return inputs;
}

TEST(EmulatedBatchNormalization, WithGivenStatisticsIsTheCpus) {
  for (const DType dtype : kFloats) {
    std::vector<Dims> shapes(std::begin(kShapes), std::end(kShapes));
    shapes.insert(shapes.end(), {{11}, {0, 3, 2}, {2, 3, 0}, {2, 0, 3}});
    for (const Dims& dims : shapes) {
      const std::string graph =
          absl::StrCat("(", TextOf({dtype, dims}),
                       " y) { y = BatchNormalization <epsilon = 0.01> (a, b, c, d, e) }");
      for (const DType parameters : {dtype, DType::kFloat32}) {
        if (dtype == DType::kFloat64 && parameters != dtype) continue;
        ExpectAsCpu(graph, InputsFor({dtype, dims}, parameters, true), 4 * ToleranceOf(dtype));
      }
    }
  }
}

// With the outputs that training wants.
std::string TrainingGraph(const Operand& x, const std::string& attributes) {
  const std::string channel = TextOf({x.dtype, {ChannelsOf(x.dims)}});
  return absl::StrCat("(", TextOf(x), " y, ", channel, " m, ", channel,
                      " v) { y, m, v = BatchNormalization <", attributes,
                      "training_mode = 1> (a, b, c, d, e) }");
}

TEST(EmulatedBatchNormalization, WithThoseOfTheBatchIsTheCpus) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : kShapes) {
      ExpectAsCpu(TrainingGraph({dtype, dims}, "epsilon = 0.01, momentum = 0.7, "),
                  InputsFor({dtype, dims}, dtype, false), 10 * ToleranceOf(dtype));
    }
  }
}

// Means far from zero: squares of the elements would lose what is asked for.
TEST(EmulatedBatchNormalization, OfAMeanFarFromZeroIsTheCpus) {
  const Operand x = {DType::kFloat32, {8, 2, 33, 17}};
  std::vector<Tensor> inputs = InputsFor(x, DType::kFloat32, false);
  for (int64_t i = 0; i < inputs[0].num_elements(); ++i) inputs[0].mutable_data<float>()[i] += 3000;
  ExpectAsCpu(TrainingGraph(x, ""), inputs, 1e-3);
}

TEST(EmulatedBatchNormalization, GradientIsTheCpus) {
  for (const DType kept : kFloats) {
    const DType dtype = kept == DType::kFloat64 ? kept : DType::kFloat32;
    for (const DType gradient : std::set<DType>{dtype, kept}) {
      for (const Dims& dims : kShapes) {
        const Operand dy = {gradient, dims}, channel = {dtype, {ChannelsOf(dims)}};
        const std::vector<Tensor> inputs = {Filled({kept, dims}, 1, false),
                                            Filled(channel, 2, false), Filled(dy, 3, false)};
        ExpectAsCpu(absl::StrCat("(", TextOf(dy), " dx, ", TextOf(channel), " ds, ",
                                 TextOf(channel), " db) { dx, ds, db = ",
                                 "onward.BatchNormalizationGradient <epsilon = 0.01> (a, b, c) }"),
                    inputs,
                    dtype == DType::kFloat64      ? 1e-9
                    : gradient == DType::kFloat32 ? 5e-4
                                                  : 4 * ToleranceOf(gradient));
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
