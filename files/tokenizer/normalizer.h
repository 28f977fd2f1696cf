// Normalizers: what happens to the text before it is cut.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

// Immutable, so thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // From UTF-8 to UTF-8. InvalidArgument: more than `most` bytes would come of it.
  virtual absl::StatusOr<std::string> Apply(std::string text, size_t most) const = 0;
};

absl::StatusOr<std::shared_ptr<const Normalizer>> ReadNormalizer(const JsonField& field);

// The normalizers that have sources of their own.
absl::StatusOr<std::shared_ptr<const Normalizer>> ReadBertNormalizer(const JsonField& field);
absl::StatusOr<std::shared_ptr<const Normalizer>> ReadPrecompiled(const JsonField& field);

}  // namespace onward::tokenizer
