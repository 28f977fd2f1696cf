// Random ops on the device: in every run of a session, the numbers of the CPU.
#include <gmock/gmock.h>

#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
constexpr int kRuns = 4;  // steps around a random one are recorded from the second on

// `text`: a whole graph with the input x.
std::unique_ptr<Session> SessionOn(const std::string& provider, const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  options.seed = 7;
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  for (const NodeExplanation& node : (*session)->Explain())
    EXPECT_EQ(node.provider, provider) << node.node << absl::StrJoin(node.refusals, "; ");
  return *std::move(session);
}

// Runs both a few times; all outputs are equal, and output "y" differs from run to run.
void ExpectCpusNumbers(const std::string& text, const Session::Inputs& inputs) {
  SCOPED_TRACE(text);
  Configure({.order = Order::kLate});
  const auto host = SessionOn("cpu", text), device = SessionOn("cuda", text);
  Tensor before;
  for (int run = 0; run < kRuns; ++run) {
    const auto expected = host->Run(inputs), actual = device->Run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    for (const auto& [name, value] : *expected)
      EXPECT_EQ(testing::Difference(actual->at(name).tensor(), value.tensor(), 1e-6, 1e-6), "")
          << name << " of run " << run;
    const Tensor& y = actual->at("y").tensor();
    if (run > 0) {
      EXPECT_NE(testing::Difference(y, before, 0, 0), "") << "run " << run;
    }
    before = y;
  }
  Configure({});
}

TEST(EmulatedRandom, DropoutDropsWhatTheCpuDrops) {
  for (const DType dtype : kFloats) {
    for (const Dims& dims : {Dims{3, 5}, Dims{1027}, Dims{2, 3, 700}}) {
      const std::string type = TextOf({dtype, dims});
      const std::string mask = TextOf({DType::kBool, dims});
      ExpectCpusNumbers(absl::StrCat("g (", type, " x) => (", type, " y, ", mask,
                                     " m) <float ratio = {0.3}, bool mode = {1}> { a = Neg (x) "
                                     "y, m = Dropout (a, ratio, mode) }"),
                        {{"x", Value(Filled({dtype, dims}, 1, false))}});
    }
  }
}

// ratio and training_mode may be inputs.
TEST(EmulatedRandom, DropoutTrainsWhereTheRunSaysSo) {
  const std::string text =
      "g (float[400] x, float ratio, bool mode) => (float[400] y, bool[400] m) "
      "{ a = Neg (x) b = Abs (a) c = Neg (b) d, m = Dropout (c, ratio, mode) y = Neg (d) }";
  Configure({.order = Order::kLate});
  const auto host = SessionOn("cpu", text), device = SessionOn("cuda", text);
  const Tensor x = Filled({DType::kFloat32, {400}}, 1, false);
  const auto run = [&](Session& session, float ratio, bool mode) {
    return session.Run({{"x", Value(x)},
                        {"ratio", Value(Tensor::Of<float>({}, {ratio}))},
                        {"mode", Value(Tensor::Of<bool>({}, {mode}))}});
  };
  for (const float ratio : {0.5f, 0.0f, 0.9f}) {
    for (const bool mode : {true, false, true, true}) {
      const auto expected = run(*host, ratio, mode), actual = run(*device, ratio, mode);
      ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
      for (const char* name : {"y", "m"})
        EXPECT_EQ(testing::Difference(actual->at(name).tensor(), expected->at(name).tensor(), 0, 0),
                  "");
    }
  }
  const auto refused = run(*device, 1.5f, true);
  EXPECT_THAT(refused.status().ToString(), ::testing::HasSubstr("ratio is 1.5, must be in [0, 1)"));
  EXPECT_TRUE(run(*device, 0.5f, true).ok());
  Configure({});
}

TEST(EmulatedRandom, FillsAreTheCpus) {
  for (const DType dtype : kFloats) {
    const std::string type = TextOf({dtype, {7, 91}});
    for (const char* op :
         {"RandomUniform <low = -1.5, high = 2.0, ", "RandomNormal <mean = 3.0, scale = 0.25, "}) {
      ExpectCpusNumbers(absl::StrCat("g (", type, " x) => (", type, " y) { r = ", op,
                                     "shape = [7, 91], dtype = ", static_cast<int>(dtype),
                                     "> () y = Add (r, x) }"),
                        {{"x", Value(Filled({dtype, {7, 91}}, 1, false))}});
    }
  }
  const Tensor x = Filled({DType::kFloat32, {5, 333}}, 1, false);
  for (const char* op : {"RandomUniformLike", "RandomNormalLike <dtype = 1>"})
    ExpectCpusNumbers(absl::StrCat("g (float[5, 333] x) => (float[5, 333] y) { y = ", op, " (x) }"),
                      {{"x", Value(x)}});
}

TEST(EmulatedRandom, BernoulliIsTheCpus) {
  Tensor p(DType::kFloat32, {3, 411});
  for (int64_t i = 0; i < p.num_elements(); ++i)
    p.mutable_data<float>()[i] = static_cast<float>(i % 101) / 100;
  ExpectCpusNumbers("g (float[3, 411] x) => (float[3, 411] y) { y = Bernoulli (x) }",
                    {{"x", Value(p)}});
  ExpectCpusNumbers("g (float[3, 411] x) => (bool[3, 411] y) { y = Bernoulli <dtype = 9> (x) }",
                    {{"x", Value(p)}});
}

}  // namespace
}  // namespace onward::emulated_cuda
