// Models of tokenizers: from a piece of text, as pre-tokenizers leave it, to ids.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"
#include "files/tokenizer/token_table.h"

namespace onward::tokenizer {

// Immutable, so thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  const TokenTable& tokens() const { return tokens_; }

  // Appends the ids of `piece`, which is UTF-8. InvalidArgument where the vocabulary does not cover
  // it and names no token for what is unknown.
  virtual absl::Status Encode(std::string_view piece, std::vector<int64_t>& ids) const = 0;

 protected:
  explicit Model(TokenTable tokens) : tokens_(std::move(tokens)) {}

  // The id of the token that stands for what is unknown, which `piece` is.
  absl::StatusOr<int64_t> Unknown(const std::optional<std::string>& token,
                                  std::string_view piece) const;

 private:
  TokenTable tokens_;
};

// By the member "type", or by its members where an old file does not say it.
absl::StatusOr<std::shared_ptr<const Model>> ReadModel(const JsonField& model);

absl::StatusOr<std::shared_ptr<const Model>> ReadBpe(const JsonField& model);
absl::StatusOr<std::shared_ptr<const Model>> ReadWordPiece(const JsonField& model);
absl::StatusOr<std::shared_ptr<const Model>> ReadWordLevel(const JsonField& model);
absl::StatusOr<std::shared_ptr<const Model>> ReadUnigram(const JsonField& model);

// The member "unk_token", which may be missing.
absl::StatusOr<std::optional<std::string>> ReadUnknownToken(const JsonField& model);

}  // namespace onward::tokenizer
