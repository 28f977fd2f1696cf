// Decoders: from the texts of tokens to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

using Texts = std::vector<std::string>;

struct DecodeOptions {
  // Bytes stay as they are, also where they are not UTF-8, so that a part of a character can wait
  // for the rest of it.
  bool raw = false;
  size_t most;  // bytes of text that may come of it
};

// Immutable, so thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the texts in place; joined they are the text.
  virtual absl::Status Apply(Texts& texts, const DecodeOptions& options) const = 0;
};

absl::StatusOr<std::shared_ptr<const Decoder>> ReadDecoder(const JsonField& field);

}  // namespace onward::tokenizer
