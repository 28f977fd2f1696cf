// A server that sends the same bytes to whoever connects, to test what a client makes of them.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace onward::testing {

class CannedServer {
 public:
  // `bytes` are sent once a request's head has come, then the connection is closed, or, with
  // `stays`, left open.
  explicit CannedServer(std::string bytes, bool stays = false)
      : bytes_(std::move(bytes)), stays_(stays), listening_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listening_, 16), 0);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~CannedServer() {
    ends_ = true;
    thread_.join();
    close(listening_);
  }
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  int connections() const { return connections_; }

 private:
  bool Readable(int descriptor) const {
    pollfd waits{descriptor, POLLIN, 0};
    while (!ends_)
      if (poll(&waits, 1, 10) > 0) return true;
    return false;
  }

  void Serve() {
    while (Readable(listening_)) {
      const int client = accept(listening_, nullptr, nullptr);
      ++connections_;
      std::string head;
      char bytes[4096];
      while (head.find("\r\n\r\n") == head.npos && Readable(client)) {
        const ssize_t count = recv(client, bytes, sizeof(bytes), 0);
        if (count <= 0) break;
        head.append(bytes, static_cast<size_t>(count));
      }
      for (size_t at = 0; at < bytes_.size();) {
        const ssize_t count = send(client, bytes_.data() + at, bytes_.size() - at, MSG_NOSIGNAL);
        if (count <= 0) break;
        at += static_cast<size_t>(count);
      }
      while (stays_ && Readable(client) && recv(client, bytes, sizeof(bytes), 0) > 0) {
      }
      close(client);
    }
  }

  const std::string bytes_;
  const bool stays_;
  const int listening_;
  int port_ = 0;
  std::atomic<bool> ends_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace onward::testing
