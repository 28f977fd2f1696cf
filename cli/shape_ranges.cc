#include "cli/shape_ranges.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onward::cli {

absl::StatusOr<ShapeRanges> SplitRanges(const std::vector<std::string>& shapes) {
  ShapeRanges ranges;
  for (const std::string& text : shapes) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos) {
      ranges.low.push_back(text);
      ranges.high.push_back(text);
      continue;
    }
    std::vector<std::string> low, high;
    for (const std::string& part :
         std::vector<std::string>(absl::StrSplit(text.substr(equals + 1), absl::ByAnyChar("x,")))) {
      const std::vector<std::string> ends = absl::StrSplit(part, "..");
      int64_t least = 0, most = 0;
      if (ends.size() > 1 && (ends.size() > 2 || !absl::SimpleAtoi(ends[0], &least) ||
                              !absl::SimpleAtoi(ends[1], &most) || least < 0 || most < least)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--shape ", text, ": '", part,
                         "' is not LOW..HIGH, two sizes of which the first is not the larger one"));
      }
      low.push_back(ends.front());
      high.push_back(ends.back());
    }
    ranges.low.push_back(absl::StrCat(name, "=", absl::StrJoin(low, "x")));
    ranges.high.push_back(absl::StrCat(name, "=", absl::StrJoin(high, "x")));
  }
  return ranges;
}

}  // namespace onward::cli
