// A client that sends any bytes, to test what the server makes of them.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace onward::testing {

struct Reply {
  int status = 0;  // 0: the connection was closed before one came
  std::string head, body;
};

class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval most{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  }
  ~Client() { Close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // The next reply less its body.
  Reply ReadHead() {
    Reply reply;
    size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == input_.npos)
      if (!Receive()) return reply;
    reply.head = input_.substr(0, end + 4);
    input_.erase(0, end + 4);
    reply.status = std::atoi(reply.head.substr(9, 3).c_str());
    return reply;
  }

  // The next reply.
  Reply Read() {
    Reply reply = ReadHead();
    if (reply.status == 0) return reply;
    if (reply.head.find("Transfer-Encoding: chunked") != reply.head.npos) {
      reply.body = ReadChunks();
      return reply;
    }
    const size_t at = reply.head.find("Content-Length: ");
    const size_t length =
        at == reply.head.npos ? 0 : std::strtoul(reply.head.c_str() + at + 16, nullptr, 10);
    while (!head_alone_ && input_.size() < length)
      if (!Receive()) return reply;
    if (head_alone_) return reply;
    reply.body = input_.substr(0, length);
    input_.erase(0, length);
    return reply;
  }

  // `fields`: whole lines, each with its end.
  Reply Ask(const std::string& method, const std::string& path, const std::string& body = "",
            const std::string& fields = "") {
    head_alone_ = method == "HEAD";
    Send(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: test\r\nContent-Length: ", body.size(),
                      "\r\n", fields, "\r\n", body));
    return Read();
  }

  // Reads until the server closes the connection.
  std::string ReadRest() {
    while (Receive()) continue;
    return input_;
  }

  // Returns whether the server closes the connection and sends nothing more.
  bool IsClosed() { return input_.empty() && !Receive(); }

  // The next piece of a stream whose head was read; "" at its end.
  std::string ReadChunk() {
    size_t line = 0;
    while ((line = input_.find("\r\n")) == input_.npos)
      if (!Receive()) return "";
    const size_t length = std::strtoul(input_.c_str(), nullptr, 16);
    while (input_.size() < line + 2 + length + 2)
      if (!Receive()) return "";
    std::string chunk = input_.substr(line + 2, length);
    input_.erase(0, line + 2 + length + 2);
    return chunk;
  }

 private:
  std::string ReadChunks() {
    std::string body;
    for (std::string chunk = ReadChunk(); !chunk.empty(); chunk = ReadChunk()) body += chunk;
    return body;
  }
  bool Receive() {
    char bytes[65536];
    const ssize_t count = recv(socket_, bytes, sizeof(bytes), 0);
    if (count <= 0) return false;
    input_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int socket_;
  std::string input_;
  bool head_alone_ = false;
};

}  // namespace onward::testing
