// Scores are filtered as transformers' warpers do it, and draws have the probabilities.
#include "onward/generation/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "kernels/philox.h"

namespace onward::generation {
namespace {

TEST(Sampling, FiltersAreTransformers) {
  std::ifstream file(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/generation/cases.json"));
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases["filters"].size(), 5u);
  for (const auto& each : cases["filters"]) {
    SamplingOptions options;
    options.temperature = each["temperature"];
    options.top_k = each["top_k"];
    options.top_p = each["top_p"];
    ASSERT_TRUE(CheckSampling(options).ok());
    std::vector<float> scores = each["scores"];
    PenaliseRepetition(absl::MakeSpan(scores), each["tokens"].get<std::vector<int64_t>>(),
                       each["repetition_penalty"]);
    FilterScores(absl::MakeSpan(scores), options);
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto& want = each["result"][i];
      if (want.is_null()) {
        EXPECT_EQ(scores[i], -std::numeric_limits<float>::infinity()) << each << " at " << i;
      } else {
        EXPECT_NEAR(scores[i], want.get<float>(), 1e-5) << each << " at " << i;
      }
    }
  }
}

TEST(Sampling, DrawsHaveTheProbabilities) {
  const std::vector<float> scores = {0, 1, -INFINITY, 2, -1};
  const std::vector<double> p = Probabilities(scores);
  const double sum = 1 + std::exp(1.0) + std::exp(2.0) + std::exp(-1.0);
  EXPECT_NEAR(p[0], 1 / sum, 1e-12);
  EXPECT_EQ(p[2], 0);
  constexpr int kDraws = 20000;
  std::vector<int> counts(5, 0);
  for (int i = 0; i < kDraws; ++i) {
    double units[2];
    kernels::UniformNumbers<double>::Draw({5, 0, 0}, static_cast<uint64_t>(i), units);
    ++counts[static_cast<size_t>(At(p, units[0]))];
  }
  EXPECT_EQ(counts[2], 0);
  double chi = 0;  // 3 degrees of freedom: above 16.3 once in a thousand
  for (size_t i = 0; i < 5; ++i) {
    if (p[i] > 0) chi += std::pow(counts[i] - kDraws * p[i], 2) / (kDraws * p[i]);
  }
  EXPECT_LT(chi, 16.3);
}

// By NumPy: s - 0.5 * (n > 0) - 0.25 * n + b, for n = bincount([3, 1, 3, 3, 0]).
TEST(Sampling, PenaltiesAndBiasAreOpenAis) {
  SamplingOptions options;
  options.presence_penalty = 0.5;
  options.frequency_penalty = 0.25;
  options.bias = {{4, -3}, {2, 1.5}, {1, 0}, {77, 9}};
  const std::vector<float> scores = {1, 2, -1, 4, 3};
  // The two tokens of the prompt do not count.
  const std::vector<int64_t> before = {4, 2, 3, 1, 3, 3, 0};
  std::vector<float> changed = scores;
  EXPECT_EQ(ChooseToken(absl::MakeSpan(changed), before, options, 0, 5), 3);
  EXPECT_EQ(changed, (std::vector<float>{0.25, 1.25, 0.5, 2.75, 0}));
  changed = scores;
  options.presence_penalty = -2;
  options.frequency_penalty = 2;
  EXPECT_EQ(ChooseToken(absl::MakeSpan(changed), before, options, 0, 5), 1);
  EXPECT_EQ(changed, (std::vector<float>{1, 2, 0.5, 0, 0}));
  changed = scores;
  options.repetition_penalty = 2;  // before what is subtracted, of all tokens
  options.presence_penalty = 1;
  options.frequency_penalty = 0;
  ChooseToken(absl::MakeSpan(changed), before, options, 0, 5);
  EXPECT_EQ(changed, (std::vector<float>{-0.5, 0, -0.5, 1, -1.5}));
  options.presence_penalty = INFINITY;
  EXPECT_FALSE(CheckSampling(options).ok());
  options.presence_penalty = 0;
  options.bias = {{0, NAN}};
  EXPECT_FALSE(CheckSampling(options).ok());
}

TEST(Sampling, TinyTemperaturesChooseTheBest) {
  for (const double temperature : {1e-300, 1e-30, 1e-6}) {
    SamplingOptions options;
    options.greedy = false;
    options.temperature = temperature;
    std::vector<float> scores = {-1e30F, 5, -INFINITY, 4.9F};
    EXPECT_EQ(ChooseToken(absl::MakeSpan(scores), {}, options, 1, 0), 1) << temperature;
  }
}

TEST(Sampling, EdgesOfDraws) {
  const std::vector<double> p = {0, 0.25, 0, 0.75, 0};
  EXPECT_EQ(At(p, 0), 1);
  EXPECT_EQ(At(p, 0.2499), 1);
  EXPECT_EQ(At(p, 0.25), 3);
  EXPECT_EQ(At(p, 0.9999999), 3);
}

TEST(Sampling, BestIsTheFirstAndNoNan) {
  EXPECT_EQ(Best(std::vector<float>{1, 3, 3}), 1);
  EXPECT_EQ(Best(std::vector<float>{NAN, 1, NAN, 2}), 3);
  const std::vector<double> p = Probabilities(std::vector<float>{NAN, 0, 0});
  EXPECT_EQ(p[0], 0);
  EXPECT_EQ(p[1], 0.5);
}

}  // namespace
}  // namespace onward::generation
