// Narrows a text's tokens to a grammar.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "generation/grammar/grammar_masks.h"
#include "onward/generation/token_constraint.h"

namespace onward::generation {

class GrammarConstraint : public TokenConstraint {
 public:
  // `stop_tokens` end the text, and may come where the grammar's texts end.
  GrammarConstraint(std::shared_ptr<GrammarMasks> masks, std::vector<int64_t> stop_tokens)
      : place_(std::move(masks)), stop_tokens_(std::move(stop_tokens)) {}

  void Mask(absl::Span<float> scores) override;
  void Take(int64_t token) override;
  bool Ends() const override { return place_.Ends(); }
  absl::Status status() const override { return status_; }

 private:
  GrammarPlace place_;
  const std::vector<int64_t> stop_tokens_;
  bool first_ = true;
  absl::Status status_;
};

}  // namespace onward::generation
