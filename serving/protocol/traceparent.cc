#include "serving/protocol/traceparent.h"

#include <algorithm>

namespace onward::serving {
namespace {

// In lower case, as the standard wants it.
bool AreHexDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool AreZeros(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

}  // namespace

// version-trace-parent-flags: 2, 32, 16 and 2 digits.
std::string TraceIdOf(std::string_view traceparent) {
  constexpr size_t kLength = 55;
  if (traceparent.size() < kLength || traceparent.size() > 512) return "";
  const std::string_view version = traceparent.substr(0, 2), trace = traceparent.substr(3, 32),
                         parent = traceparent.substr(36, 16), flags = traceparent.substr(53, 2);
  for (const size_t dash : {2, 35, 52})
    if (traceparent[dash] != '-') return "";
  for (const std::string_view part : {version, trace, parent, flags})
    if (!AreHexDigits(part)) return "";
  if (version == "ff" || AreZeros(trace) || AreZeros(parent)) return "";
  // Later versions may have more behind another dash.
  const bool longer = traceparent.size() > kLength;
  if (longer && (version == "00" || traceparent[kLength] != '-')) return "";
  return std::string(trace);
}

}  // namespace onward::serving
