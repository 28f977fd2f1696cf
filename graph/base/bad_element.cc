#include "graph/base/bad_element.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace onward {
namespace {

constexpr char kUrl[] = "onward/bad_element";

}  // namespace

absl::Status WithBadElement(absl::Status status, const BadElement& element) {
  std::string text = absl::StrCat(element.position, " ", element.count, " ", element.value);
  if (element.number) absl::StrAppendFormat(&text, " %.17g", *element.number);
  status.SetPayload(kUrl, absl::Cord(text));
  return status;
}

std::optional<BadElement> BadElementOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> numbers = absl::StrSplit(text, ' ');
  BadElement element;
  double number = 0;
  if (numbers.size() < 3 || numbers.size() > 4 ||
      !absl::SimpleAtoi(numbers[0], &element.position) ||
      !absl::SimpleAtoi(numbers[1], &element.count) ||
      !absl::SimpleAtoi(numbers[2], &element.value) ||
      (numbers.size() == 4 && !absl::SimpleAtod(numbers[3], &number)))
    return std::nullopt;
  if (numbers.size() == 4) element.number = number;
  return element;
}

}  // namespace onward
