// Tokenizers as HF's library writes them: text to ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "files/tokenizer/encoding.h"

namespace onward::files {

struct TokenizerParts;

// Immutable, so thread-safe. Copies share what was read.
class Tokenizer {
 public:
  // A tokenizer.json or tokenizer.model, or the directory that has one, the first if it has both; a
  // tokenizer_config.json beside it says which tokens begin and end a text. InvalidArgument names
  // the file and the member that is wrong or not supported.
  static absl::StatusOr<Tokenizer> Read(const std::string& path);
  // The bytes of the two files; an empty `config` says nothing.
  static absl::StatusOr<Tokenizer> Parse(std::string_view json, std::string_view config = "");
  // The same of a tokenizer.model, which SentencePiece writes.
  static absl::StatusOr<Tokenizer> ParseSentencePiece(std::string_view model,
                                                      std::string_view config = "");
  // Returns whether the directory has a tokenizer's file.
  static bool IsInDirectory(const std::string& path);
  // Returns whether `path` is a directory, or a file that looks like a tokenizer's.
  static bool IsTokenizer(const std::string& path);

  // The ids of UTF-8 text, with those that the file's post-processor adds around it if
  // `add_special`. Nothing is cut off or padded, whatever the file says. InvalidArgument: not
  // UTF-8, or a character that the vocabulary has no token for.
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text, bool add_special) const;
  // The same of a text, or of a pair of two, of at most `most` tokens: what is over is cut off at
  // the end of the longer text, then of both. InvalidArgument: the special tokens alone are more.
  // Unimplemented: the file's post-processor cannot be applied to pairs.
  absl::StatusOr<Encoding> EncodeUpTo(size_t most, std::string_view text,
                                      std::optional<std::string_view> second,
                                      bool add_special) const;
  // A prompt and the text that completes it, for models that predict the next token: with
  // `add_special` what stands before a text, both texts, and the token that ends texts if there is
  // one. `prompt_tokens`: of those, what the completion follows. Unimplemented: with `add_special`,
  // where the post-processor adds tokens behind texts.
  struct Completion {
    std::vector<int64_t> ids;
    size_t prompt_tokens = 0;
  };
  absl::StatusOr<Completion> EncodeCompletion(std::string_view prompt, std::string_view completion,
                                              bool add_special) const;
  // UTF-8; bytes that are not become U+FFFD. Ids without a token are passed over, and special ones
  // if `skip_special`.
  absl::StatusOr<std::string> Decode(absl::Span<const int64_t> ids, bool skip_special) const;

  struct TokenBytes {
    // The bytes that each token adds to a text, by id; none where it is special or passed over.
    std::vector<std::string> bytes;
    // Tokens that add something else where a text begins with them, a space at their front aside.
    std::vector<int64_t> not_first;
  };
  // Unimplemented: what a token adds depends on the one before it. It takes a microsecond or two a
  // token.
  absl::StatusOr<TokenBytes> Bytes() const;

  // nullopt: no such token.
  std::optional<int64_t> IdOf(std::string_view token) const;
  // The token as the file has it, which is not yet text; nullopt: no token has this id.
  std::optional<std::string> TokenOf(int64_t id) const;
  int64_t size() const;  // the largest id, plus 1
  // The tokens that begin and end a text, where tokenizer_config.json names them.
  std::optional<int64_t> bos() const;
  std::optional<int64_t> eos() const;
  // The token that fills up shorter texts of a batch, where tokenizer_config.json names it.
  std::optional<int64_t> pad() const;

 private:
  friend class TextStream;
  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}
  // Without what the post-processor adds.
  absl::StatusOr<std::vector<int64_t>> EncodeBare(std::string_view text) const;
  // `raw`: the bytes of the tokens, UTF-8 or not.
  absl::StatusOr<std::string> Decode(absl::Span<const int64_t> ids, bool skip_special,
                                     bool raw) const;

  std::shared_ptr<const TokenizerParts> parts_;
};

// The text of ids that come one by one: only what is new, and never a part of a character. Together
// the pieces are the text of all ids, but for byte tokens (<0xE2>) that are not UTF-8.
class TextStream {
 public:
  TextStream(Tokenizer tokenizer, bool skip_special)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

  absl::StatusOr<std::string> Push(int64_t id);
  // The rest of a character that never ended, as U+FFFD.
  absl::StatusOr<std::string> Finish();

 private:
  absl::StatusOr<std::string> Raw() const;
  bool IsPassedOver(int64_t id) const;

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<int64_t> ids_;  // the last one whose text is out, and those that wait
  size_t sent_ = 0;           // bytes of their text that are out
};

}  // namespace onward::files
