// A text that a batch generates: what it reads next, and what becomes of its scores.
#pragma once

#include <optional>
#include <vector>

#include "onward/generation/batch_generator.h"

namespace onward::generation {

class Text {
 public:
  explicit Text(TextRequest request) : request_(std::move(request)), tokens_(request_.prompt) {}

  const TextRequest& request() const { return request_; }
  // The prompt and what was chosen.
  const std::vector<int64_t>& tokens() const { return tokens_; }
  // Returns whether each token of the prompt is to be scored.
  bool scores_prompt() const { return request_.prompt_scores && request_.log_probabilities; }

  // The text is over before it has all its tokens: its caller left, or its time is up.
  absl::Status Over() const;
  // It has a row. Shows the prompt's tokens where they have no scores, or the first. False: the
  // caller ends it.
  bool Begin();
  // Takes the scores behind the first `read` tokens: shows the next token of the prompt, or chooses
  // one. How the text ends, if it does; `full`: no token can be read behind these.
  std::optional<absl::StatusOr<Finish>> Take(absl::Span<float> scores, size_t read, bool full);
  // Calls on_end.
  void End(absl::StatusOr<Finish> finish);

 private:
  TextToken Shown(int64_t id, bool in_prompt, absl::Span<const float> scores) const;
  bool Show(const TextToken& token);

  TextRequest request_;
  std::vector<int64_t> tokens_;
};

}  // namespace onward::generation
