// Tokens of text: which piece of text has which number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onward {

// Immutable, so thread-safe.
class Vocabulary {
 public:
  // The 256 bytes.
  static Vocabulary Bytes();
  // The distinct characters of a UTF-8 text, by code point. InvalidArgument: not UTF-8.
  static absl::StatusOr<Vocabulary> OfCharacters(std::string_view text);
  // A file of one token per line, the first being number 0; \n, \r, \t, \\ and \xNN stand for what
  // they do in C. A file that begins with '{' is a JSON object from token to number.
  // InvalidArgument names the file and the line: empty or repeated tokens, numbers that leave gaps.
  static absl::StatusOr<Vocabulary> Read(const std::string& path);
  // The same from the bytes of such a file.
  static absl::StatusOr<Vocabulary> Parse(std::string_view bytes);
  // In the first of those formats. The file appears whole or not at all.
  absl::Status Write(const std::string& path) const;
  std::string Text() const;  // what Write writes: ASCII and UTF-8

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::string& token(int64_t number) const { return tokens_[static_cast<size_t>(number)]; }

  // From the front, always the longest token that the text continues with. InvalidArgument names
  // the byte where no token fits.
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) const;
  // OutOfRange: a number without a token.
  absl::StatusOr<std::string> Decode(absl::Span<const int64_t> numbers) const;

 private:
  static absl::StatusOr<Vocabulary> Make(std::vector<std::string> tokens);

  std::vector<std::string> tokens_;
  // The tokens as a tree of bytes: (node, byte) -> node; node 0 is the root.
  absl::flat_hash_map<uint64_t, uint32_t> children_;
  std::vector<int32_t> token_at_{-1};  // by node; -1: a beginning of tokens only
};

}  // namespace onward
