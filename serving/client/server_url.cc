#include "serving/client/server_url.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

absl::Status NotAUrl(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is not the URL of a server, such as http://127.0.0.1:8000 or unix:PATH"));
}

// Characters that would end the line of a request or its path.
bool IsPlain(std::string_view text) {
  for (const char c : text)
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)) || c == '?' || c == '#' || c == '@')
      return false;
  return true;
}

}  // namespace

std::string ServerUrl::HostField() const {
  if (!unix_path.empty()) return "localhost";
  return absl::StrCat(host.find(':') == host.npos ? host : absl::StrCat("[", host, "]"), ":", port);
}

absl::StatusOr<ServerUrl> ReadServerUrl(const std::string& text) {
  ServerUrl url;
  if (absl::StartsWith(text, "unix:") && text.size() > 5) {
    url.unix_path = text.substr(5);
    return url;
  }
  std::string_view rest = text;
  url.encrypted = absl::StartsWith(text, "https://");
  if (url.encrypted || absl::StartsWith(text, "http://")) rest.remove_prefix(url.encrypted ? 8 : 7);
  if (!IsPlain(rest)) return NotAUrl(text);
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = std::string(rest.substr(slash));
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  std::string_view place = rest.substr(0, slash);
  const bool bracketed = !place.empty() && place.front() == '[';
  const size_t host_end = bracketed ? place.find(']') : std::min(place.find(':'), place.size());
  if (host_end == place.npos) return NotAUrl(text);
  url.host = std::string(place.substr(bracketed, host_end - bracketed));
  place.remove_prefix(host_end + bracketed);
  url.port = url.encrypted ? 443 : 80;
  const bool has_port = !place.empty();
  if (has_port &&
      (place.front() != ':' || !absl::SimpleAtoi(std::string(place.substr(1)), &url.port) ||
       url.port < 1 || url.port > 65535))
    return NotAUrl(text);
  if (url.host.empty()) return NotAUrl(text);
  return url;
}

}  // namespace onward::serving
