// Patterns of names, as configurations write them: '*' stands for any characters, '?' for one.
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace onward {

// Returns whether the whole of `name` is as `pattern` says. Linear but for one '*' at a time.
bool MatchesPattern(std::string_view name, std::string_view pattern);
bool MatchesAny(std::string_view name, absl::Span<const std::string> patterns);

}  // namespace onward
