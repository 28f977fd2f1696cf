#include "graph/base/bad_element.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onward {
namespace {

constexpr char kUrl[] = "onward/bad_element";

}  // namespace

absl::Status WithBadElement(absl::Status status, const BadElement& element) {
  const int64_t numbers[] = {element.position, element.count, element.value};
  status.SetPayload(kUrl, absl::Cord(absl::StrJoin(numbers, " ")));
  return status;
}

std::optional<BadElement> BadElementOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> numbers = absl::StrSplit(text, ' ');
  BadElement element;
  if (numbers.size() != 3 || !absl::SimpleAtoi(numbers[0], &element.position) ||
      !absl::SimpleAtoi(numbers[1], &element.count) ||
      !absl::SimpleAtoi(numbers[2], &element.value))
    return std::nullopt;
  return element;
}

}  // namespace onward
