// The name that somebody meant, for messages about one that is not there.
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace onward {

// The closest of `candidates` by edit distance, "" when none is near.
std::string ClosestName(std::string_view name, absl::Span<const std::string> candidates);

// "; did you mean 'input'?", or "" when none is near.
std::string DidYouMean(std::string_view name, absl::Span<const std::string> candidates);

}  // namespace onward
