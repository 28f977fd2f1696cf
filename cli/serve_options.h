// The options of `onward serve`: flags, and a file for those that are not given.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "serving/server.h"

namespace onward::cli {

struct ServeOptions {
  std::vector<std::string> models;  // "[NAME=]MODEL"
  serving::ServerOptions server;
  std::chrono::microseconds drain{0};
  std::optional<serving::HttpAddress> grpc = std::nullopt;
};

// The flags as they are given; "" where one is not.
struct ServeFlags {
  std::vector<std::string> models;
  std::string http, grpc, max_body, max_wait, drain_timeout;
  std::string api_key_file, admin_key_file, tls_cert, tls_key, access_log, trace_dir, config;
  bool check = false;  // loads everything and opens no port
};

void AddServeFlags(Command& command, ServeFlags& flags);
// Reads the file of --config, whose members are the flags' names ({"models": ["digits=m.onnx"],
// "max-wait": "1s"}) and count where the flag is not given, and the files of keys. InvalidArgument:
// names the flag or member.
absl::StatusOr<ServeOptions> ReadServeOptions(ServeFlags flags, const CommonOptions& common);

// "127.0.0.1:8001", "[::1]:8001".
std::string HostAndPort(const serving::HttpAddress& address);
// The URL that clients connect to: "http://127.0.0.1:8000", "unix:/run/onward.sock".
std::string UrlOf(const serving::HttpAddress& address);
// The options that curl needs to connect, and the beginning of its URLs.
struct CurlCall {
  std::string command, url;
};
CurlCall CurlTo(const serving::HttpAddress& address);

}  // namespace onward::cli
