// Tokens beside the model's: found in the text before anything else looks at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"
#include "files/tokenizer/normalizer.h"
#include "files/tokenizer/prefix_tree.h"
#include "files/tokenizer/token_table.h"

namespace onward::tokenizer {

class AddedTokens {
 public:
  // `normalizer` may be null. The model's ids of the same texts must be the same.
  static absl::StatusOr<AddedTokens> Read(const JsonField& list, const TokenTable& model,
                                          const Normalizer* normalizer);

  // A part of the text: a token, or what lies between tokens.
  struct Span {
    std::string_view text;
    int64_t id;  // -1: no token
  };
  // Tokens to be found in the text as it comes, and those in normalized text. From left to right
  // the longest counts; none of the spans is empty.
  std::vector<Span> FindInText(std::string_view text) const { return Find(text, in_text_); }
  std::vector<Span> FindInNormalized(std::string_view text) const {
    return Find(text, in_normalized_);
  }

  // nullptr: none has this id.
  const std::string* Text(int64_t id) const { return texts_.Text(id); }
  std::optional<int64_t> Find(std::string_view token) const { return texts_.Find(token); }
  bool IsSpecial(int64_t id) const;
  int64_t end() const { return texts_.end(); }  // the largest id, plus 1

 private:
  struct Token {
    int64_t id = 0;
    bool special = false, single_word = false, lstrip = false, rstrip = false, normalized = false;
  };
  std::vector<Span> Find(std::string_view text, const PrefixTree& tree) const;

  std::vector<Token> tokens_;
  absl::flat_hash_map<int64_t, bool> special_;
  TokenTable texts_;
  PrefixTree in_text_, in_normalized_;  // to indices of tokens_
};

}  // namespace onward::tokenizer
