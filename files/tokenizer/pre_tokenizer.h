// Pre-tokenizers: they cut the normalized text into the pieces that the model encodes one by one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

struct Piece {
  std::string text;
  bool first = false;  // the text that is encoded begins with it
};

// Immutable, so thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Appends what `piece`, which is UTF-8 and not empty, is cut into; none of it is empty.
  // InvalidArgument: more than `most` bytes would come of it.
  virtual absl::Status Cut(Piece piece, size_t most, std::vector<Piece>& pieces) const = 0;
};

absl::StatusOr<std::shared_ptr<const PreTokenizer>> ReadPreTokenizer(const JsonField& field);

}  // namespace onward::tokenizer
