// One text that is generated: from its tokens to what the client sees of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tokenizer/tokenizer.h"
#include "onward/generation/batch_generator.h"
#include "serving/text/stop_text.h"

namespace onward::serving {

struct ScoredToken {
  int64_t id = 0;
  std::string text;
  int64_t offset = 0;  // in characters of the choice's text
  double log_probability = 0;
  bool has_score = true;  // the first token of a prompt has none
  std::vector<std::pair<std::string, double>> best;
};

// The growth of a choice's text.
struct ChoiceDelta {
  std::string text;
  std::vector<ScoredToken> tokens;  // where log probabilities are asked for
};

struct ChoiceOptions {
  std::vector<std::string> stops;
  std::vector<int64_t> stop_tokens;  // which are not shown
  bool log_probabilities = false;
  std::string echo;  // the prompt, which the text begins with
};

class Choice {
 public:
  Choice(const files::Tokenizer& tokenizer, ChoiceOptions options);

  absl::StatusOr<ChoiceDelta> Take(const generation::TextToken& token);
  absl::StatusOr<ChoiceDelta> End(generation::Finish finish);

  bool stopped() const { return stop_text_.stopped(); }  // by a string
  int64_t tokens() const { return tokens_; }             // without the prompt's
  // "stop" or "length"; "" before the end.
  const std::string& finish_reason() const { return finish_reason_; }

 private:
  ScoredToken Scored(const generation::TextToken& token) const;
  // The text with the tokens that begin in it.
  ChoiceDelta Shown(std::string text);

  files::Tokenizer tokenizer_;
  ChoiceOptions options_;
  files::TextStream stream_;
  StopText stop_text_;
  std::vector<ScoredToken> held_;
  int64_t tokens_ = 0;
  int64_t decoded_ = 0;  // characters, with those held back
  int64_t shown_ = 0;    // characters
  std::string finish_reason_;
};

}  // namespace onward::serving
