// The tokens of a model by text and by id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

class TokenTable {
 public:
  // {"token": id}.
  static absl::StatusOr<TokenTable> Read(const JsonField& vocabulary);

  // The last of several tokens with one text is found; an id keeps its first text.
  void Add(std::string token, int64_t id);

  std::optional<int64_t> Find(std::string_view token) const;
  // nullptr: no token has this id.
  const std::string* Text(int64_t id) const;
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  int64_t end() const { return end_; }  // the largest id, plus 1
  const absl::flat_hash_map<int64_t, std::string>& texts() const { return texts_; }

  // The tokens <0x00> to <0xFF> of each byte of `text`; nothing where one is missing.
  std::optional<std::vector<int64_t>> Bytes(std::string_view text) const;

 private:
  absl::flat_hash_map<std::string, int64_t> ids_;
  absl::flat_hash_map<int64_t, std::string> texts_;
  int64_t end_ = 0;
};

}  // namespace onward::tokenizer
