// Numbers as the protocol's text has them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace onward::serving {

inline constexpr size_t kMostDecimalChars = 40;

// Writes the shortest decimal that reads back the same, or NaN, Infinity or -Infinity; at most
// kMostDecimalChars. Returns its end.
template <typename T>
char* WriteDecimal(T number, char* to) {
  if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, double> && !std::is_same_v<T, float>) {
    return WriteDecimal(static_cast<float>(number), to);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      std::string_view word;
      if (!std::isfinite(number))
        word = std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
      // Readers take -0 for an integer, which has no sign then.
      if (number == 0 && std::signbit(number)) word = "-0.0";
      if (!word.empty()) {
        std::memcpy(to, word.data(), word.size());
        return to + word.size();
      }
    }
    return std::to_chars(to, to + kMostDecimalChars, number).ptr;
  }
}

template <typename T>
void AppendDecimal(T number, std::string& text) {
  char digits[kMostDecimalChars];
  text.append(digits, WriteDecimal(number, digits));
}

}  // namespace onward::serving
