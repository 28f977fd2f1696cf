#include "graph/base/byte_text.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace onward {
namespace {

// 0: no such unit.
double FactorOf(std::string_view unit) {
  std::string name = absl::AsciiStrToLower(std::string(unit));
  if (name == "b" || name.empty()) return 1;
  if (name.back() == 'b') name.pop_back();
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"k", 1e3},     {"m", 1e6},     {"g", 1e9},     {"t", 1e12},
      {"ki", 0x1p10}, {"mi", 0x1p20}, {"gi", 0x1p30}, {"ti", 0x1p40}};
  for (const auto& [known, factor] : kUnits)
    if (name == known) return factor;
  return 0;
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(std::string_view field, std::string_view text) {
  if (text.empty()) return 0;
  const std::string given(absl::StripAsciiWhitespace(std::string(text)));
  const size_t end = given.find_last_of("0123456789.") + 1;
  const std::string unit(absl::StripAsciiWhitespace(given.substr(end)));
  const double factor = FactorOf(unit);
  double number = 0;
  if (factor > 0 && absl::SimpleAtod(given.substr(0, end), &number) && number > 0 &&
      number * factor >= 1 && number * factor < 0x1p62)
    return static_cast<int64_t>(number * factor);
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(field), ": '", std::string(text),
                   "' is not a number of bytes such as 500MB (10^6 each) or 2GiB (2^30 each)"));
}

std::string BytesText(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 10000) return absl::StrCat(bytes, " bytes");
  if (bytes < 1000000) return absl::StrFormat("%.1f kB", number * 1e-3);
  if (bytes < 1000000000) return absl::StrFormat("%.1f MB", number * 1e-6);
  return absl::StrFormat("%.3f GB", number * 1e-9);
}

}  // namespace onward
