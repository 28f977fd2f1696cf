// Which weights of a model a training trains, and on what ground (see Trainer::choices).
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace onward {

// The ground that a choice rests on.
enum class Ground : uint8_t {
  kConfig,     // `trainable` or `frozen` names it, or `trainable` names others
  kModel,      // the model says that it is a parameter, or that it is not
  kGuess,      // the model does not say
  kStatistic,  // a running statistic
  kNoPath,     // no gradient path leads from the loss to it
};

struct WeightChoice {
  std::string name;
  bool trained = false;
  Ground ground = Ground::kGuess;
  std::string reason;  // "a buffer", "folded from 'fc.weight'"
};

// "12 weights are trained (10 the file names as parameters, 2 by guess), 5 are frozen (...)".
std::string ChoiceSummary(absl::Span<const WeightChoice> choices);
// The ground and the reason: "model: a buffer".
std::string ChoiceText(const WeightChoice& choice);

}  // namespace onward
