#include "graph/base/closest_name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onward {
namespace {

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestName(std::string_view name, absl::Span<const std::string> candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 2 + 2;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view name, absl::Span<const std::string> candidates) {
  const std::string closest = ClosestName(name, candidates);
  return closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?");
}

}  // namespace onward
