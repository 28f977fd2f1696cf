// Clients that do not read, or read a byte now and then: the server, and the system behind it, keep
// nothing for them once their time is over.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serving/http/body_pipe.h"
#include "serving/http/http_server.h"
#include "tests/serving/client.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// A client for which the system keeps little of what it has not read, at the server's end too,
// where room grows with the size of packets.
class SlowClient {
 public:
  explicit SlowClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    constexpr int kRoom = 4096, kPacket = 536;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof(kRoom));
    setsockopt(socket_, IPPROTO_TCP, TCP_MAXSEG, &kPacket, sizeof(kPacket));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~SlowClient() { close(socket_); }
  SlowClient(const SlowClient&) = delete;
  SlowClient& operator=(const SlowClient&) = delete;

  void Get(const std::string& path, const std::string& fields = "") const {
    const std::string bytes =
        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: a\r\n", fields, "\r\n");
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }
  // Up to so many bytes.
  std::string Read(size_t most) const {
    std::string bytes(most, '\0');
    const ssize_t count = recv(socket_, bytes.data(), most, 0);
    bytes.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return bytes;
  }

 private:
  int socket_;
};

// Replies with as many bytes as the path says; those of /stream/N come as a stream.
class SlowClientsTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits) {
    HttpHandler handler;
    handler.handle = [](const HttpRequest& request, const HttpResponder& respond) {
      HttpReply reply;
      const std::string bytes(std::stoul(request.segments.back()), 'x');
      if (request.segments.size() == 1) {
        reply.body = bytes;
        return respond(std::move(reply));
      }
      reply.pipe = std::make_shared<BodyPipe>();
      reply.pipe->Write(bytes);
      respond(std::move(reply));
    };
    auto server = HttpServer::Listen({.port = 0}, limits, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Connections of the server that the system knows, those that it has closed but not ended too.
  int Connections() const {
    std::ifstream file("/proc/net/tcp");
    const std::string port = absl::StrCat(":", absl::Hex(server_->port(), absl::kZeroPad4));
    int count = 0;
    std::string slot, local, remote, state, rest;
    while (file >> slot >> local >> remote >> state && std::getline(file, rest)) {
      constexpr char kListens[] = "0A", kWaits[] = "06";
      if (absl::AsciiStrToLower(local).ends_with(port) && state != kListens && state != kWaits)
        ++count;
    }
    return count;
  }
  // Whether there are none soon.
  bool AllEnd() const {
    const auto end = Clock::now() + seconds(10);
    while (Connections() > 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Connections() == 0;
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(SlowClientsTest, AReplyThatIsNotReadIsThrownAway) {
  Start({.transfer_deadline = seconds(1)});
  for (const std::string path : {"/1000000", "/stream/1000000"}) {
    const SlowClient client(server_->port());
    client.Get(path);
    EXPECT_EQ(client.Read(12), "HTTP/1.1 200");
    EXPECT_EQ(Connections(), 1) << path;
    EXPECT_TRUE(AllEnd()) << path;
  }
}

// Replies that the system has taken are behind the server, which waits for the next request.
TEST_F(SlowClientsTest, AReplyThatTheSystemHoldsIsThrownAway) {
  Start({.idle_deadline = seconds(1)});
  const SlowClient client(server_->port());
  client.Get("/12000");
  EXPECT_EQ(client.Read(12), "HTTP/1.1 200");
  EXPECT_EQ(Connections(), 1);
  EXPECT_TRUE(AllEnd());
}

TEST_F(SlowClientsTest, ALastReplyIsReadForAsLongAsItTakes) {
  Start({});
  const SlowClient client(server_->port());
  client.Get("/12000", "Connection: close\r\n");
  std::this_thread::sleep_for(seconds(7));  // the server closes after five
  std::string reply;
  for (std::string part = client.Read(1000); !part.empty(); part = client.Read(1000)) reply += part;
  EXPECT_TRUE(reply.ends_with("\r\n\r\n" + std::string(12000, 'x')));
}

TEST_F(SlowClientsTest, AnIdleConnectionEndsWithoutAnError) {
  Start({.idle_deadline = seconds(1)});
  Client client(server_->port());
  EXPECT_EQ(client.Ask("GET", "/5").body, "xxxxx");
  errno = 0;
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(errno, 0);  // not ECONNRESET
}

}  // namespace
}  // namespace onward::serving
