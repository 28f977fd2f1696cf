// The limits and the handler by which a connection of HTTP/1.1 is served.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "serving/http/message.h"

namespace onward::serving {

// Limits of a client; more is refused with the status in parentheses, before it is read.
struct HttpLimits {
  int64_t body_bytes = int64_t{64} << 20;  // 413
  size_t chunks = 65536;                   // of a body; 413
  size_t bodies_bytes = size_t{1} << 30;   // of all that are being read; 503
  size_t line_bytes = 8 * 1024;            // of the request line; 414
  size_t field_bytes = 8 * 1024;           // of all fields; 431
  size_t fields = 100;                     // 431
  int connections = 10000;  // the longest idle are closed; where none is, the new one
  // The most of one address (in IPv6, of one network of 64 bits); others are closed at once.
  int connections_per_address = 1000;
  int connections_from_here = 10000;       // of this machine: proxies, Unix sockets
  std::chrono::seconds head_deadline{10};  // from a request's first byte to its fields' end; 408
  std::chrono::seconds transfer_deadline{30};  // a MiB of a body or a reply may take; 408
  std::chrono::seconds idle_deadline{60};      // between requests
};

// Gives the reply, once, from any thread.
using HttpResponder = std::function<void(HttpReply reply)>;
// Called on the network's thread, which must not wait: long work goes elsewhere.
struct HttpHandler {
  std::function<void(HttpRequest request, HttpResponder respond)> handle;
  // Asked before a body that is large, or in chunks (-1), is read, with the request less its body:
  // the reply of one that is refused, after which the connection is closed. Null: all are read.
  std::function<std::optional<HttpReply>(const HttpRequest& head, int64_t body_bytes)> admit =
      nullptr;
  // The number of bytes of such a body that come before those that are the request's tail. May be
  // null.
  std::function<size_t(const HttpRequest& head, size_t body_bytes)> split = nullptr;
  // Told of a client whose request could not be read, with the status that it gets. May be null.
  std::function<void(const std::string& client, int status)> refused = nullptr;
  // Called after requests that came together have been handled. May be null.
  std::function<void()> end_turn = nullptr;
};

}  // namespace onward::serving
