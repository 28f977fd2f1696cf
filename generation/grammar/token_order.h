// The bytes of a vocabulary's tokens in their order, so that tokens that begin alike are
// neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generation/grammar/grammar.h"

namespace onward::generation {

// Immutable, so thread-safe.
class TokenOrder {
 public:
  struct Token {
    int64_t id = 0;
    std::string bytes;
    size_t shared = 0;  // bytes that it begins with as the token before it does
  };

  // `bytes` by id; tokens without any are not to be written. Those of `not_first` have others at a
  // text's beginning.
  TokenOrder(const std::vector<std::string>& bytes, std::vector<int64_t> not_first);

  const std::vector<Token>& tokens() const { return tokens_; }
  // Those that begin with a byte are tokens begin(byte) to begin(byte + 1).
  size_t begin(size_t byte) const { return begins_[byte]; }
  std::string_view bytes_of(int64_t id) const;
  const std::vector<int64_t>& not_first() const { return not_first_; }
  int64_t size() const { return size_; }  // the largest id, plus 1
  uint32_t longest() const { return longest_; }

  // Bytes that any text may be made of: those that are tokens, and those of characters beyond ASCII
  // where tokens have whole ones.
  const ByteSet& writable() const { return writable_; }
  // Returns whether every byte of a character beyond ASCII is a token.
  bool has_all_bytes() const { return has_all_bytes_; }

 private:
  std::vector<Token> tokens_;
  std::array<size_t, 257> begins_ = {};
  std::vector<uint32_t> places_;  // among the tokens, plus 1, by id; 0: none
  std::vector<int64_t> not_first_;
  int64_t size_ = 0;
  uint32_t longest_ = 0;
  ByteSet writable_;
  bool has_all_bytes_ = true;
};

}  // namespace onward::generation
