// Keys of clients, and which endpoints they open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/http/message.h"

namespace onward::serving {

// Whom an endpoint is for: everybody; those with a key for inference, where there are such keys;
// those with an administrator's key, and nobody where there is none.
enum class RouteClass { kOpen, kInference, kAdmin };

class KeyList {
 public:
  static constexpr size_t kLongest = 256;

  // The keys of a file, one a line; blank lines and those that begin with # are skipped. Errors
  // name the file and the line, never a key: NotFound, InvalidArgument (no key, or one that no
  // header can have).
  static absl::StatusOr<KeyList> Read(const std::string& path);

  // The time does not depend on the keys, only on their number and the length of `key`.
  bool Has(std::string_view key) const;
  std::string first() const;  // the one that a client sends
  bool others_may_read() const { return others_may_read_; }

 private:
  absl::Status Add(std::string_view key);

  using Padded = std::array<char, kLongest>;
  static Padded Pad(std::string_view key);

  std::vector<Padded> keys_;
  bool others_may_read_ = false;  // the file
};

struct AccessKeys {
  std::optional<KeyList> api, admin;
};

// nullopt: whoever sent the fields may use endpoints of the class. Else 401 without a key, with
// WWW-Authenticate, and 403 with a wrong one, or where nobody may. An administrator's key opens
// inference too.
std::optional<HttpReply> CheckKey(const AccessKeys& keys, RouteClass route_class,
                                  const HttpFields& fields);

}  // namespace onward::serving
