// Text operations that methods and filters share.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "files/chat_template/rendering.h"
#include "files/chat_template/value.h"

namespace onward::chat_template {

// The first `most` (negative: all) occurrences of `from`.
absl::StatusOr<Value> Replaced(Rendering& rendering, const std::string& text,
                               const std::string& from, const std::string& to, int64_t most);
// To `width` characters, with the text on the left (-1), on the right (1) or in the middle (0).
absl::StatusOr<Value> Filled(Rendering& rendering, const std::string& text, int64_t width,
                             const std::string& fill, int side);
// str.format.
absl::StatusOr<Value> BraceFormat(Rendering& rendering, const std::string& text,
                                  const Arguments& arguments);

}  // namespace onward::chat_template
