#include "graph/base/name_pattern.h"

#include <algorithm>

namespace onward {

bool MatchesPattern(std::string_view name, std::string_view pattern) {
  size_t n = 0, p = 0;
  // Where the last '*' was met, to let it stand for one character more.
  size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool MatchesAny(std::string_view name, absl::Span<const std::string> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& each) { return MatchesPattern(name, each); });
}

}  // namespace onward
