#include "generation/grammar/grammar_constraint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onward::generation {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// Scores of tokens that may come stay above those of all others, whatever the model says and
// sampling does with them.
constexpr float kMost = 1e30F;

void Set(GrammarMasks::Mask& mask, int64_t token, bool may) {
  const auto at = static_cast<size_t>(token);
  if (token < 0 || at / 64 >= mask.size()) return;
  const uint64_t bit = uint64_t{1} << at % 64;
  mask[at / 64] = may ? mask[at / 64] | bit : mask[at / 64] & ~bit;
}

}  // namespace

void GrammarConstraint::Mask(absl::Span<float> scores) {
  GrammarMasks::Mask mask = *place_.Allowed();
  mask.resize(std::max(mask.size(), (scores.size() + 63) / 64));
  if (first_)
    for (const int64_t token : place_.masks().tokens().not_first()) Set(mask, token, false);
  for (const int64_t token : stop_tokens_) Set(mask, token, place_.MayEnd());
  bool some = false;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool may = (mask[i / 64] >> i % 64 & 1) != 0;
    const float score = std::isnan(scores[i]) ? -kMost : std::clamp(scores[i], -kMost, kMost);
    scores[i] = may ? score : kNever;
    some = some || may;
  }
  if (!some)
    status_ = absl::FailedPreconditionError(
        "the model has no token for what must come next in the format that was asked for");
}

void GrammarConstraint::Take(int64_t token) {
  first_ = false;
  place_.Take(place_.masks().tokens().bytes_of(token));
}

}  // namespace onward::generation
