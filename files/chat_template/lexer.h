// Tokens of Jinja's templates, with blocks trimmed as transformers sets it: the newline behind a
// block and the blanks before one on its line do not count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::chat_template {

struct Token {
  enum class Kind {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd
  };
  Kind kind;
  std::string text;  // of a string without quotes and escapes, of a number without underscores
  int line;

  bool Is(std::string_view op) const { return kind == Kind::kOperator && text == op; }
  bool IsName(std::string_view name) const { return kind == Kind::kName && text == name; }
};

// The last one is kEnd. InvalidArgument: "line 3: what is wrong".
absl::StatusOr<std::vector<Token>> Tokens(std::string_view source);

absl::Status ErrorAt(int line, const std::string& what);

}  // namespace onward::chat_template
