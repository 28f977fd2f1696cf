// From a decoder's scores to its next token: what transformers' logits processors and warpers do,
// in their order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace onward::generation {

struct SamplingOptions {
  bool greedy = true;             // the best token; else one is drawn
  double repetition_penalty = 1;  // >= 1: scores of tokens that were there are divided by it, or
                                  // multiplied where negative
  double temperature = 1;         // > 0: scores are divided by it
  int64_t top_k = 0;              // only the k best and what equals the last of them; 0: all
  double top_p = 1;               // in (0, 1]: only the fewest that have this probability together
  // As OpenAI's API has them: what scores of tokens lose that were generated, not those of the
  // prompt; once, and for each time.
  double presence_penalty = 0, frequency_penalty = 0;
  std::vector<std::pair<int64_t, double>> bias = {};  // what is added to scores of some tokens
};

// InvalidArgument: a number out of its range.
absl::Status CheckSampling(const SamplingOptions& options);

void PenaliseRepetition(absl::Span<float> scores, absl::Span<const int64_t> tokens, double penalty);
void PenalisePresence(absl::Span<float> scores, absl::Span<const int64_t> generated,
                      double presence_penalty, double frequency_penalty);
// Temperature, top_k and top_p: what is left out gets -infinity. At least one token stays.
void FilterScores(absl::Span<float> scores, const SamplingOptions& options);

// exp(scores) by their sum; the logarithms of that. NaN counts as -infinity.
std::vector<double> Probabilities(absl::Span<const float> scores);
std::vector<double> LogProbabilities(absl::Span<const float> scores);

// The first of the best.
int64_t Best(absl::Span<const float> scores);
// The token at `unit` in [0, 1) of the cumulative probabilities.
int64_t At(absl::Span<const double> probabilities, double unit);

// The next token of a text of which `before` is there, by all of these in their order, the bias
// behind the penalties; the scores change. It is choice number `step` of a text whose draws have
// this seed: the last `step` tokens of `before` were generated.
int64_t ChooseToken(absl::Span<float> scores, absl::Span<const int64_t> before,
                    const SamplingOptions& options, uint64_t seed, uint64_t step);

}  // namespace onward::generation
