// The options of Metaspace, which is a pre-tokenizer and its decoder: spaces become visible.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"

namespace onward::tokenizer {

struct Metaspace {
  enum class Prepend { kNever, kFirst, kAlways };

  std::string replacement;  // one character
  Prepend prepend = Prepend::kAlways;
  bool split = true;

  static absl::StatusOr<Metaspace> Read(const JsonField& field);
};

}  // namespace onward::tokenizer
