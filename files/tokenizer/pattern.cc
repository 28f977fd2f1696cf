#include "files/tokenizer/pattern.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/characters.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

void Merge(std::vector<Part>& parts, Cut cut) {
  std::vector<Part> merged;
  bool previous = false;
  if (cut == Cut::kMergedWithNext) std::reverse(parts.begin(), parts.end());
  for (const Part& part : parts) {
    const bool joins = cut == Cut::kContiguous ? part.match == previous : part.match && !previous;
    previous = part.match;
    if (!joins || merged.empty()) {
      merged.push_back(part);
    } else {
      merged.back().begin = std::min(merged.back().begin, part.begin);
      merged.back().end = std::max(merged.back().end, part.end);
    }
  }
  if (cut == Cut::kMergedWithNext) std::reverse(merged.begin(), merged.end());
  parts = std::move(merged);
}

}  // namespace

absl::StatusOr<Pattern> Pattern::Read(const JsonField& field) {
  if (field.value().is_string()) return FromText(field.value().get<std::string>());
  ONWARD_RETURN_IF_ERROR(field.Only({"String", "Regex"}));
  if (field.Has("Regex")) {
    ONWARD_ASSIGN_OR_RETURN(const std::string expression, field.String("Regex"));
    absl::StatusOr<Pattern> made = FromRegex(expression);
    if (!made.ok()) return field.Error(made.status().message().data());
    return made;
  }
  ONWARD_ASSIGN_OR_RETURN(std::string text, field.String("String"));
  return FromText(std::move(text));
}

Pattern Pattern::FromText(std::string text) {
  Pattern made;
  made.text_ = std::move(text);
  return made;
}

absl::StatusOr<Pattern> Pattern::FromRegex(std::string_view expression) {
  Pattern made;
  ONWARD_ASSIGN_OR_RETURN(made.regex_, Regex::Compile(expression));
  return made;
}

absl::StatusOr<std::vector<Part>> Pattern::Parts(std::string_view text) const {
  std::vector<Part> parts;
  size_t covered = 0;
  const auto match = [&](size_t begin, size_t end) {
    if (begin > covered) parts.push_back({covered, begin, false});
    parts.push_back({begin, end, true});
    covered = end;
  };
  if (regex_.has_value()) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<Regex::Range> found, regex_->FindAll(text));
    for (const Regex::Range& range : found) match(range.begin, range.end);
  } else if (!text_.empty()) {
    for (size_t at = text.find(text_); at != text.npos; at = text.find(text_, covered))
      match(at, at + text_.size());
  }
  if (covered < text.size()) parts.push_back({covered, text.size(), false});
  return parts;
}

absl::StatusOr<std::string> Pattern::Replace(std::string_view text, std::string_view content,
                                             size_t most) const {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Part> parts, Parts(text));
  std::string made;
  for (const Part& part : parts) {
    made.append(part.match ? content : text.substr(part.begin, part.end - part.begin));
    ONWARD_RETURN_IF_ERROR(CheckGrowth(made.size(), most));
  }
  return made;
}

absl::Status CheckGrowth(size_t bytes, size_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tokenizer makes more than ", most, " bytes of the text"));
}

std::vector<Part> PartsByCharacter(std::string_view text, bool (*is)(uint32_t)) {
  std::vector<Part> parts;
  const size_t size = text.size();
  while (!text.empty()) {
    const size_t begin = size - text.size();
    const bool match = is(TakeCharacter(text));
    const size_t end = size - text.size();
    if (!match && !parts.empty() && !parts.back().match) {
      parts.back().end = end;
    } else {
      parts.push_back({begin, end, match});
    }
  }
  return parts;
}

absl::StatusOr<Cut> ReadCut(const JsonField& field) {
  static constexpr std::pair<const char*, Cut> kCuts[] = {
      {"Removed", Cut::kRemoved},
      {"Isolated", Cut::kIsolated},
      {"MergedWithPrevious", Cut::kMergedWithPrevious},
      {"MergedWithNext", Cut::kMergedWithNext},
      {"Contiguous", Cut::kContiguous}};
  ONWARD_ASSIGN_OR_RETURN(const std::string name, field.String());
  for (const auto& [known, cut] : kCuts) {
    if (name == known) return cut;
  }
  return field.Error(absl::StrCat("'", files::PrintableUtf8(name), "' is not supported"));
}

std::vector<Part> CutAt(std::vector<Part> parts, Cut cut) {
  if (cut != Cut::kRemoved && cut != Cut::kIsolated) Merge(parts, cut);
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [&](const Part& part) {
                               return part.begin == part.end ||
                                      (cut == Cut::kRemoved && part.match);
                             }),
              parts.end());
  return parts;
}

}  // namespace onward::tokenizer
