#include "kernels/cpu/reference/cast_string.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/cast_convert.h"

namespace onward::kernels::cpu {
namespace {

// Rounds to a format of `mantissa_bits` without bounds on the exponent.
double RoundToBits(double value, int mantissa_bits) {
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, mantissa_bits)), exponent - mantissa_bits);
}

std::string_view Stripped(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && absl::ascii_isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

absl::Status NotANumber(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(text), "' is not a number"));
}

// Digits d.ddd and an exponent, as "-1.25e-07", into Python's layout.
std::string Layout(std::string_view scientific) {
  const size_t e = scientific.find('e');
  std::string digits;
  for (char c : scientific.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  std::string_view exponent_text = scientific.substr(e + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  const std::string sign = scientific.front() == '-' ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = count > 1 ? absl::StrCat(".", digits.substr(1)) : "";
    const int size = std::abs(exponent);
    return absl::StrCat(sign, digits.substr(0, 1), fraction, exponent < 0 ? "e-" : "e+",
                        size < 10 ? "0" : "", size);
  }
  if (exponent < 0)
    return absl::StrCat(sign, "0.", std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
  if (count <= exponent + 1) {
    return absl::StrCat(sign, digits, std::string(static_cast<size_t>(exponent + 1 - count), '0'),
                        ".0");
  }
  const auto whole = static_cast<size_t>(exponent + 1);
  return absl::StrCat(sign, digits.substr(0, whole), ".", digits.substr(whole));
}

}  // namespace

std::string FloatToString(double value, int mantissa_bits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::to_chars_result written{};
  if (mantissa_bits >= 53) {
    written = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  } else if (mantissa_bits == 24) {
    written = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value),
                            std::chars_format::scientific);
  } else {
    for (int precision = 0; precision < 17; ++precision) {
      written = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific,
                              precision);
      double back = 0;
      std::from_chars(buffer, written.ptr, back);
      if (RoundToBits(back, mantissa_bits) == value) break;
    }
  }
  return Layout({buffer, static_cast<size_t>(written.ptr - buffer)});
}

absl::Status ParseDouble(std::string_view text, double* value) {
  const std::string_view number = Stripped(text);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *value);
  if (end != number.data() + number.size() || number.empty()) return NotANumber(text);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: the sign and the exponent's sign tell which limit.
    const bool negative = number.front() == '-';
    const size_t e = number.find_first_of("eE");
    const bool tiny = e != std::string_view::npos
                          ? number.find('-', e) != std::string_view::npos
                          : absl::StartsWith(std::string(Stripped(number)), "0");
    *value = tiny ? 0.0 : HUGE_VAL;
    if (negative) *value = -*value;
    return absl::OkStatus();
  }
  return error == std::errc() ? absl::OkStatus() : NotANumber(text);
}

absl::Status ParseInteger(std::string_view text, int64_t* bits) {
  const std::string_view number = Stripped(text);
  const char* last = number.data() + number.size();
  if (const auto [end, error] = std::from_chars(number.data(), last, *bits);
      error == std::errc() && end == last)
    return absl::OkStatus();
  uint64_t large = 0;
  if (const auto [end, error] = std::from_chars(number.data(), last, large);
      error == std::errc() && end == last) {
    *bits = static_cast<int64_t>(large);
    return absl::OkStatus();
  }
  double value = 0;
  if (absl::Status status = ParseDouble(text, &value); !status.ok()) return status;
  *bits = FloatToInteger<int64_t>(value);
  return absl::OkStatus();
}

absl::Status ParseBool(std::string_view text, bool* value) {
  const std::string lower = absl::AsciiStrToLower(std::string(Stripped(text)));
  if (lower == "true" || lower == "false") {
    *value = lower == "true";
    return absl::OkStatus();
  }
  double number = 0;
  if (absl::Status status = ParseDouble(text, &number); !status.ok()) return status;
  *value = number != 0;
  return absl::OkStatus();
}

}  // namespace onward::kernels::cpu
