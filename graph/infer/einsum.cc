#include "graph/infer/check_equation.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onward {

absl::Status CheckEquation(const Node& node) {
  if (!node.Is("Einsum")) return absl::OkStatus();
  const std::string equation = node.attributes.String("equation", "");
  for (size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool dash = c == '-' && i + 1 < equation.size() && equation[i + 1] == '>';
    const bool tip = c == '>' && i > 0 && equation[i - 1] == '-';
    if (letter || dash || tip || c == '.' || c == ',' || c == ' ') continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the equation '", absl::CHexEscape(equation), "' has '",
                     absl::CHexEscape(std::string(1, c)), "' at byte ", i,
                     "; it is made of letters, '...', ',', '->' and spaces"));
  }
  return absl::OkStatus();
}

}  // namespace onward
