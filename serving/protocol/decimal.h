// Numbers as the protocol's text has them.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

namespace onward::serving {

// The shortest decimal that reads back the same; NaN, Infinity and -Infinity.
template <typename T>
void AppendDecimal(T number, std::string& text) {
  if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, double> && !std::is_same_v<T, float>) {
    AppendDecimal(static_cast<float>(number), text);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(number)) {
        text += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
        return;
      }
      // Readers take -0 for an integer, which has no sign then.
      if (number == 0 && std::signbit(number)) {
        text += "-0.0";
        return;
      }
    }
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    text.append(digits, end);
  }
}

}  // namespace onward::serving
