// Tokens as text: by a vocabulary, by a tokenizer, or as numbers where there is neither.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tokenizer/tokenizer.h"
#include "onward/graph.h"
#include "onward/vocabulary.h"

namespace onward::cli {

class TokenText {
 public:
  // By `file`: a file of tokens, "bytes", a tokenizer.json or a directory that has one. Where no
  // file is named, by the model's metadata.
  static absl::StatusOr<TokenText> Create(const std::string& file, const Metadata& metadata);

  bool has_text() const { return vocabulary_ != nullptr || tokenizer_.has_value(); }
  // Needs has_text().
  absl::StatusOr<std::vector<int64_t>> Encode(const std::string& text) const;
  absl::StatusOr<std::string> Text(const std::vector<int64_t>& tokens) const;
  // The token that ends a text, where a tokenizer says so.
  std::optional<int64_t> end_token() const;

  // Returns the text to print for tokens as they come, and after the last one.
  absl::StatusOr<std::string> Next(int64_t token);
  absl::StatusOr<std::string> Finish();

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::optional<files::Tokenizer> tokenizer_;
  std::optional<files::TextStream> stream_;
  int64_t streamed_ = 0;
};

}  // namespace onward::cli
