// String literals, escaped as in Python.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward::chat_template {

// The bytes of the literal that `text` begins with, its quotes included; 0: it has no end.
size_t LiteralLength(std::string_view text);
// The text of a literal from what stands between its quotes.
absl::StatusOr<std::string> ReadLiteral(std::string_view inner);

}  // namespace onward::chat_template
