// Regular expressions of tokenizers, written for Oniguruma (Ruby's syntax) and run by PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::tokenizer {

// PCRE2's way to write what `pattern` means; InvalidArgument where the two syntaxes differ in a way
// that is not translated.
absl::StatusOr<std::string> TranslatePattern(std::string_view pattern);

// Thread-safe.
class Regex {
 public:
  struct Range {
    size_t begin, end;
  };
  static absl::StatusOr<Regex> Compile(std::string_view pattern);

  // The matches in UTF-8 `text` from left to right; none overlap, an empty one never follows
  // another directly. InvalidArgument: a match takes too many steps.
  absl::StatusOr<std::vector<Range>> FindAll(std::string_view text) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace onward::tokenizer
