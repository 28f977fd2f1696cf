#include "serving/keys.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

HttpReply Unauthorized(const std::string& message) {
  HttpReply reply = ErrorReply(401, message);
  reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

// The key of "Authorization: Bearer KEY"; nullopt: no such field, several, or another scheme.
std::optional<std::string_view> GivenKey(const HttpFields& fields) {
  constexpr std::string_view kScheme = "bearer ";
  std::optional<std::string_view> given;
  for (const auto& [name, value] : fields) {
    if (name != "authorization") continue;
    if (given) return std::nullopt;
    given = value;
  }
  if (!given || absl::AsciiStrToLower(std::string(given->substr(0, kScheme.size()))) != kScheme)
    return std::nullopt;
  given->remove_prefix(std::min(given->find_first_not_of(' ', kScheme.size()), given->size()));
  return given->empty() ? std::nullopt : given;
}

}  // namespace

absl::StatusOr<KeyList> KeyList::Read(const std::string& path) {
  struct stat status {};
  const bool regular = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  std::ifstream file(regular ? path : std::string());
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read the file of keys '", path, "'"));
  KeyList list;
  list.others_may_read_ = (status.st_mode & S_IROTH) != 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    absl::StripAsciiWhitespace(&line);
    if (line.empty() || line[0] == '#') continue;
    if (absl::Status status_of_key = list.Add(line); !status_of_key.ok())
      return Annotate(status_of_key, absl::StrCat("'", path, "', line ", number, ":"));
  }
  if (!list.keys_.empty()) return list;
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' has no key: write one on a line of its own"));
}

absl::Status KeyList::Add(std::string_view key) {
  if (key.size() > kLongest)
    return absl::InvalidArgumentError(
        absl::StrCat("a key has at most ", kLongest, " characters, this one ", key.size()));
  for (const char c : key) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)))
      return absl::InvalidArgumentError(
          "a key has printable ASCII characters and no spaces, since a header has to carry it");
  }
  keys_.push_back(Pad(key));
  return absl::OkStatus();
}

KeyList::Padded KeyList::Pad(std::string_view key) {
  Padded padded{};
  key.copy(padded.data(), padded.size());
  return padded;
}

std::string KeyList::first() const {
  const Padded& key = keys_.front();
  return {key.begin(), std::find(key.begin(), key.end(), '\0')};
}

// Keys have no NUL, so two that are equal when padded are equal.
bool KeyList::Has(std::string_view key) const {
  if (key.empty() || key.size() > kLongest || key.find('\0') != key.npos) return false;
  const Padded given = Pad(key);
  unsigned found = 0;
  for (const Padded& each : keys_) {
    volatile unsigned char difference = 0;  // volatile: no loop that ends early is made of this
    for (size_t i = 0; i < kLongest; ++i)
      difference = difference | static_cast<unsigned char>(each[i] ^ given[i]);
    found |= difference == 0;
  }
  return found != 0;
}

std::optional<HttpReply> CheckKey(const AccessKeys& keys, RouteClass route_class,
                                  const HttpFields& fields) {
  const bool for_admin = route_class == RouteClass::kAdmin;
  if (for_admin && !keys.admin)
    return ErrorReply(403, "this needs an administrator's key, and the server has none");
  if (route_class == RouteClass::kOpen || (!for_admin && !keys.api)) return std::nullopt;
  const std::optional<std::string_view> given = GivenKey(fields);
  if (!given) return Unauthorized("a key is missing: Authorization: Bearer KEY");
  const bool admin = keys.admin && keys.admin->Has(*given);
  const bool api = !for_admin && keys.api->Has(*given);
  if (admin || api) return std::nullopt;
  return ErrorReply(403, for_admin ? "this is not an administrator's key"
                                   : "this key is not one of the server's");
}

}  // namespace onward::serving
