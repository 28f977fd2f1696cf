// The bytes of a connection to the server, in pieces: heads, bodies with a length, chunks, requests
// behind each other.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "serving/http/http_server.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

using namespace serving;  // NOLINT: the harness is all of it

void Require(bool holds) {
  if (!holds) std::abort();
}

// Replies with the bytes that a body has.
class CountingServer {
 public:
  CountingServer() {
    char directory[] = "/tmp/onward_fuzz_XXXXXX";
    Require(mkdtemp(directory) != nullptr);
    path_ = absl::StrCat(directory, "/socket");
    HttpLimits limits;
    limits.body_bytes = 1 << 16;
    limits.chunks = 64;
    HttpHandler handler;
    handler.handle = [](const HttpRequest& request, const HttpResponder& respond) {
      HttpReply reply;
      reply.body = absl::StrCat(request.body.size());
      respond(std::move(reply));
    };
    auto server = HttpServer::Listen({.unix_path = path_}, limits, std::move(handler));
    Require(server.ok());
    server_ = *std::move(server);
  }

  int Connect() const {
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    Require(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    return client;
  }

 private:
  std::string path_;
  std::unique_ptr<HttpServer> server_;
};

void Send(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has closed
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// Reads until the connection is closed, or until nothing has come for so long.
std::string Receive(int client, int milliseconds, bool* closed) {
  const timeval most{milliseconds / 1000, milliseconds % 1000 * 1000};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  std::string received;
  char piece[4096];
  ssize_t count = 0;
  while ((count = recv(client, piece, sizeof(piece), 0)) > 0)
    received.append(piece, static_cast<size_t>(count));
  *closed = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  return received;
}

// Whole replies behind each other.
void CheckReplies(std::string_view replies) {
  while (!replies.empty()) {
    Require(replies.substr(0, 9) == "HTTP/1.1 ");
    const size_t end = replies.find("\r\n\r\n");
    Require(end != replies.npos);
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const size_t field = replies.find(kLength);
    size_t length = 0;
    if (field < end) {
      const std::string_view rest = replies.substr(field + kLength.size());
      length = std::strtoul(std::string(rest.substr(0, rest.find('\r'))).c_str(), nullptr, 10);
    }
    Require(end + 4 + length <= replies.size());
    replies.remove_prefix(end + 4 + length);
  }
}

}  // namespace

// The first byte says how long pieces are. A request behind the bytes ends the connection, unless
// they leave something open.
void HttpConnection(const uint8_t* data, size_t size) {
  static const CountingServer* const server = new CountingServer();
  FuzzBytes head(data, size);
  const size_t piece = size_t{head.Byte()} + 1;
  std::string bytes(reinterpret_cast<const char*>(data) + std::min<size_t>(size, 1),
                    size - std::min<size_t>(size, 1));
  bytes += "GET /end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  const int client = server->Connect();
  for (size_t at = 0; at < bytes.size(); at += piece)
    Send(client, std::string_view(bytes).substr(at, piece));
  bool closed = false;
  std::string replies = Receive(client, 20, &closed);
  if (!closed) {
    shutdown(client, SHUT_WR);
    replies += Receive(client, 8000, &closed);
    Require(closed);
  }
  close(client);
  // Replies to HEAD say a length and have no body.
  if (bytes.find("HEAD") == bytes.npos) CheckReplies(replies);
}

}  // namespace onward::fuzz
