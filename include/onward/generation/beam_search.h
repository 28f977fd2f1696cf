// Beam search with the meaning that transformers gives it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/generation/decoder.h"
#include "onward/generation/sampling.h"

namespace onward::generation {

struct BeamOptions {
  int64_t beams = 4;
  double length_penalty = 1;    // scores are divided by length^this: above 0 long ones gain
  bool early_stopping = false;  // as soon as there are as many finished ones as beams
};

struct Hypothesis {
  std::vector<int64_t> tokens;  // what was generated, a stop token included
  double score = 0;             // log-probability by length^length_penalty
};

// The finished hypotheses, best first: up to as many as beams, at least one. `repetition_penalty`
// applies to log-probabilities.
absl::StatusOr<std::vector<Hypothesis>> BeamSearch(Decoder& decoder,
                                                   absl::Span<const int64_t> prompt,
                                                   int64_t max_new_tokens,
                                                   absl::Span<const int64_t> stop_tokens,
                                                   const BeamOptions& options,
                                                   double repetition_penalty = 1);

}  // namespace onward::generation
