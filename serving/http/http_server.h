// HTTP/1.1: connections, framing, limits and deadlines. What requests mean is the handler's.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serving/http/http_handler.h"

namespace onward::serving {

// The address that a server listens at: a port of a host, or a Unix socket.
struct HttpAddress {
  std::string host = "127.0.0.1";
  int port = 8000;             // 0: any that is free
  std::string unix_path = {};  // instead, where it is not empty
  // Files in PEM; both or none. With them connections are encrypted by TLS 1.2 or later.
  std::string certificate_file = {}, key_file = {};
};

// Returns the error that Listen would find in an address before it opens a port.
absl::Status CheckAddress(const HttpAddress& address);

class HttpServer {
 public:
  // Listens and serves in a thread of its own. InvalidArgument: not an address, certificate or
  // key; NotFound: no such address; AlreadyExists: it is taken. A Unix socket that a process left
  // behind is replaced.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const HttpAddress& address,
                                                            const HttpLimits& limits,
                                                            HttpHandler handler);
  virtual ~HttpServer() = default;  // closes what is open

  virtual int port() const = 0;  // 0: a Unix socket
  // Connections end with their next reply. New ones are taken until no request is under way, and
  // at least as long as `least`, so that the handler can say that the server stops; then the port
  // is closed. Waits at most `most`. False: some requests were not answered.
  virtual bool Drain(std::chrono::milliseconds least, std::chrono::seconds most) = 0;
};

}  // namespace onward::serving
