#include "training/config/parse_bytes.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onward {

absl::StatusOr<int64_t> ParseBytes(std::string_view field, const std::string& text) {
  if (text.empty()) return 0;
  const size_t end = text.find_last_of("0123456789.") + 1;
  double number = 0;
  const std::string unit = text.substr(end);
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"B", 1},         {"KB", 1e3},      {"kB", 1e3},     {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name && absl::SimpleAtod(text.substr(0, end), &number) && number > 0 &&
        number * factor < 0x1p62)
      return static_cast<int64_t>(number * factor);
  }
  return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": '", text,
                                                 "' is no number of bytes such as 2GiB or 500MB"));
}

}  // namespace onward
