// The URL of a server, as a client is given it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace onward::serving {

struct ServerUrl {
  std::string host;  // "" of a Unix socket
  int port = 0;
  std::string unix_path = {};
  bool encrypted = false;
  std::string path = {};  // before the protocol's: "" or "/behind/a/proxy"

  std::string HostField() const;  // "127.0.0.1:8000", "localhost" of a Unix socket
};

// "http://HOST[:PORT][/PATH]", "https://...", "HOST:PORT", "unix:PATH". InvalidArgument: it is
// none of these.
absl::StatusOr<ServerUrl> ReadServerUrl(const std::string& text);

}  // namespace onward::serving
