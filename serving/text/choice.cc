#include "serving/text/choice.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "files/tokenizer/characters.h"
#include "onward/status.h"

namespace onward::serving {

using tokenizer::CountCharacters;

Choice::Choice(const files::Tokenizer& tokenizer, ChoiceOptions options)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      stream_(tokenizer, /*skip_special=*/true),
      stop_text_(options_.stops) {
  if (!options_.log_probabilities) decoded_ = CountCharacters(options_.echo);
}

ScoredToken Choice::Scored(const generation::TextToken& token) const {
  const auto text_of = [this](int64_t id) {
    return tokenizer_.Decode({id}, /*skip_special=*/false).value_or("");
  };
  ScoredToken scored = {.id = token.id,
                        .text = text_of(token.id),
                        .offset = decoded_,
                        .log_probability = token.log_probability,
                        .has_score = !token.in_prompt || decoded_ > 0,
                        .best = {}};
  for (const auto& [id, log_probability] : token.best)
    scored.best.emplace_back(text_of(id), log_probability);
  return scored;
}

absl::StatusOr<ChoiceDelta> Choice::Take(const generation::TextToken& token) {
  if (token.in_prompt) {
    held_.push_back(Scored(token));
    decoded_ += CountCharacters(held_.back().text);
    return ChoiceDelta();
  }
  if (tokens_++ == 0) decoded_ = CountCharacters(options_.echo);
  std::string echo = std::exchange(options_.echo, {});
  if (absl::c_linear_search(options_.stop_tokens, token.id)) return Shown(std::move(echo));
  if (options_.log_probabilities) held_.push_back(Scored(token));
  ONWARD_ASSIGN_OR_RETURN(const std::string piece, stream_.Push(token.id));
  decoded_ += CountCharacters(piece);
  return Shown(echo + stop_text_.Push(piece));
}

absl::StatusOr<ChoiceDelta> Choice::End(generation::Finish finish) {
  ONWARD_ASSIGN_OR_RETURN(const std::string rest, stream_.Finish());
  const bool stops = stopped() || finish == generation::Finish::kStop;
  std::string text = std::exchange(options_.echo, {}) + stop_text_.Push(rest);
  finish_reason_ = stops || stopped() ? "stop" : "length";
  ChoiceDelta delta = Shown(text + stop_text_.Finish());
  if (stopped()) return delta;
  std::move(held_.begin(), held_.end(), std::back_inserter(delta.tokens));
  held_.clear();
  return delta;
}

ChoiceDelta Choice::Shown(std::string text) {
  ChoiceDelta delta{std::move(text), {}};
  shown_ += CountCharacters(delta.text);
  const auto later =
      absl::c_find_if(held_, [this](const ScoredToken& each) { return each.offset >= shown_; });
  delta.tokens.assign(std::make_move_iterator(held_.begin()), std::make_move_iterator(later));
  held_.erase(held_.begin(), later);
  return delta;
}

}  // namespace onward::serving
