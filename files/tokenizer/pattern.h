// A text or a regular expression, as Split and Replace take them, and what is done with matches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/json_field.h"
#include "files/tokenizer/regex.h"

namespace onward::tokenizer {

// A part of a text; the parts cover it.
struct Part {
  size_t begin, end;
  bool match;
};

class Pattern {
 public:
  // {"String": text} or {"Regex": expression}; a string alone is a text.
  static absl::StatusOr<Pattern> Read(const JsonField& field);
  static Pattern FromText(std::string text);
  static absl::StatusOr<Pattern> FromRegex(std::string_view expression);

  absl::StatusOr<std::vector<Part>> Parts(std::string_view text) const;
  // Every match becomes `content`. InvalidArgument: that makes more than `most` bytes.
  absl::StatusOr<std::string> Replace(std::string_view text, std::string_view content,
                                      size_t most) const;
  bool is_regex() const { return regex_.has_value(); }

 private:
  std::string text_;
  std::optional<Regex> regex_;
};

// InvalidArgument where a text has grown to more than `most` bytes: steps of a hostile file could
// double it again and again.
absl::Status CheckGrowth(size_t bytes, size_t most);

// Every character that `is` names is a match.
std::vector<Part> PartsByCharacter(std::string_view text, bool (*is)(uint32_t));

// The treatment of the matches when a text is cut at them.
enum class Cut { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
absl::StatusOr<Cut> ReadCut(const JsonField& field);

// The parts that are left, without empty ones.
std::vector<Part> CutAt(std::vector<Part> parts, Cut cut);

}  // namespace onward::tokenizer
