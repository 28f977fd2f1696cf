// What one client, or many, can take from the server, without models: the handler is the test's.
#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/http/http_server.h"
#include "serving/http/reply_batch.h"
#include "tests/serving/client.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using onward::testing::Reply;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Echoes bodies; requests to /held wait until they are let go.
class HttpLimitsTest : public ::testing::Test {
 protected:
  struct Held {
    HttpRequest request;
    HttpResponder respond;
  };

  void Start(const HttpLimits& limits) {
    HttpHandler handler;
    handler.handle = [this](HttpRequest request, HttpResponder respond) {
      if (request.segments == std::vector<std::string>{"held"}) {
        const std::lock_guard lock(mutex_);
        held_.push_back({std::move(request), std::move(respond)});
        return;
      }
      HttpReply reply{.body = absl::StrCat(request.body, "|")};
      reply.body += request.tail.bytes;
      if (reinterpret_cast<uintptr_t>(request.tail.bytes.data()) % 64 != 0) reply.status = 500;
      respond(std::move(reply));
    };
    handler.split = [](const HttpRequest& head, size_t bytes) {
      const std::string_view at = FieldOf(head.fields, "x-split");
      return at.empty() ? bytes : static_cast<size_t>(std::atoi(std::string(at).c_str()));
    };
    auto server = HttpServer::Listen({.port = 0}, limits, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void TearDown() override { server_.reset(); }

  size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void AwaitHeld(size_t count) {
    while (held() < count) std::this_thread::sleep_for(milliseconds(1));
  }
  std::vector<Held> TakeHeld() {
    const std::lock_guard lock(mutex_);
    return std::move(held_);
  }
  static std::string Post(const std::string& path, const std::string& fields,
                          const std::string& body = "") {
    return absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: a\r\n", fields, "\r\n", body);
  }
  static std::string Chunk(const std::string& text) {
    return absl::StrCat(absl::Hex(text.size()), "\r\n", text, "\r\n");
  }

  std::mutex mutex_;
  std::vector<Held> held_;
  std::unique_ptr<HttpServer> server_;
};

constexpr char kChunked[] = "Transfer-Encoding: chunked\r\n";

TEST_F(HttpLimitsTest, HeadsHaveEightKilobytes) {
  Start({});
  const auto status = [&](size_t bytes) {
    Client client(server_->port());
    return client.Ask("GET", "/", "", absl::StrCat("X: ", std::string(bytes, 'x'), "\r\n")).status;
  };
  EXPECT_EQ(status(8000), 200);
  EXPECT_EQ(status(8200), 431);
}

TEST_F(HttpLimitsTest, AnAddressHasSoManyConnections) {
  Start({.connections_from_here = 2});
  auto first = std::make_unique<Client>(server_->port());
  Client second(server_->port());
  EXPECT_EQ(first->Ask("GET", "/").status, 200);
  EXPECT_EQ(second.Ask("GET", "/").status, 200);
  EXPECT_TRUE(Client(server_->port()).IsClosed());
  first.reset();
  int status = 0;
  while (status == 0) status = Client(server_->port()).Ask("GET", "/").status;
  EXPECT_EQ(status, 200);
}

TEST_F(HttpLimitsTest, AFullServerClosesWhatIsIdleForLongest) {
  Start({.connections = 3});
  std::vector<std::unique_ptr<Client>> clients;
  const auto ask = [&](size_t i) { return clients[i]->Ask("GET", "/").status; };
  for (size_t i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(server_->port()));
    EXPECT_EQ(ask(i), 200);
  }
  EXPECT_EQ(ask(0), 200);
  clients.push_back(std::make_unique<Client>(server_->port()));
  EXPECT_EQ(ask(3), 200);
  EXPECT_TRUE(clients[1]->IsClosed());
  for (const size_t i : {0, 2, 3}) {
    EXPECT_EQ(ask(i), 200);
    clients[i]->Send(Post("/held", "Content-Length: 0\r\n"));
  }
  AwaitHeld(3);
  EXPECT_TRUE(Client(server_->port()).IsClosed());
  for (Held& each : TakeHeld()) each.respond({.body = "done"});
  for (const size_t i : {0, 2, 3}) EXPECT_EQ(clients[i]->Read().body, "done");
}

TEST_F(HttpLimitsTest, ChunksAreCounted) {
  Start({.chunks = 10});
  const auto reply = [&](int chunks) {
    std::string body;
    for (int i = 0; i < chunks; ++i) body += Chunk("x");
    Client client(server_->port());
    client.Send(Post("/", kChunked, body + "0\r\n\r\n"));
    return client.Read();
  };
  EXPECT_EQ(reply(9).body, "xxxxxxxxx|");
  EXPECT_EQ(reply(11).status, 413);
}

// A byte now and then would keep a connection for ever.
TEST_F(HttpLimitsTest, ABodyHasOneDeadline) {
  Start({.transfer_deadline = std::chrono::seconds(1)});
  for (const std::string fields : {kChunked, "Content-Length: 1000\r\n"}) {
    Client client(server_->port());
    const auto begin = Clock::now();
    client.Send(Post("/", fields));
    std::future<Reply> reply = std::async([&] { return client.Read(); });
    while (reply.wait_for(milliseconds(300)) != std::future_status::ready &&
           Clock::now() - begin < std::chrono::seconds(10))
      client.Send(fields == kChunked ? Chunk("x") : "x");
    EXPECT_EQ(reply.get().status, 408);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  }
}

TEST_F(HttpLimitsTest, TheDeadlineOfABodyEndsWithIt) {
  Start({.transfer_deadline = std::chrono::seconds(1)});
  Client client(server_->port());
  const std::string request = Post("/held", "Content-Length: 4\r\n", "body");
  // The second one is read by the read that watches for the client to leave.
  client.Send(request + request.substr(0, request.size() - 2));
  AwaitHeld(1);
  TakeHeld()[0].respond({.body = "1"});
  EXPECT_EQ(client.Read().body, "1");
  client.Send(request.substr(request.size() - 2));
  AwaitHeld(1);
  std::this_thread::sleep_for(milliseconds(1700));
  TakeHeld()[0].respond({.body = "2"});
  EXPECT_EQ(client.Read().body, "2");
}

TEST_F(HttpLimitsTest, BodiesThatArriveShareALimit) {
  Start({.bodies_bytes = 100'000});
  const std::string length = "Content-Length: 70000\r\n", half(35'000, 'x');
  Client first(server_->port());
  first.Send(Post("/", length, half));
  Client second(server_->port());
  Reply refused;
  // Until the first one's half has been read.
  for (int i = 0; i < 1000 && refused.status != 503; ++i) {
    Client other(server_->port());
    other.Send(Post("/", length, half + half));
    refused = other.Read();
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("too many bytes of bodies arrive"));
  EXPECT_EQ(second.Ask("POST", "/", "small").body, "small|");
  first.Send(half);
  EXPECT_EQ(first.Read().body.size(), 70'001);
  second.Send(Post("/", length, half + half));
  EXPECT_EQ(second.Read().body.size(), 70'001);
}

TEST_F(HttpLimitsTest, WhoLeavesWithRequestsBehindIsNoticed) {
  Start({});
  for (const size_t more : {size_t{0}, size_t{10}, size_t{150'000}}) {
    Client client(server_->port());
    client.Send(Post("/held", "Content-Length: 0\r\n", std::string(more, 'x')));
    AwaitHeld(1);
    Held held = std::move(TakeHeld()[0]);
    EXPECT_FALSE(held.request.client_left.stop_requested());
    client.Close();
    while (!held.request.client_left.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
    held.respond({});
  }
}

TEST_F(HttpLimitsTest, RepliesOfABatchComeTogether) {
  Start({});
  std::vector<std::unique_ptr<Client>> clients;
  for (size_t i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<Client>(server_->port()));
    clients.back()->Send(Post("/held", "Content-Length: 0\r\n"));
    AwaitHeld(i + 1);
  }
  clients[7]->Close();
  {
    const ReplyBatch together;
    int number = 0;
    for (Held& each : TakeHeld()) each.respond({.body = absl::StrCat(number++)});
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    if (i == 7) continue;
    EXPECT_EQ(clients[i]->Read().body, absl::StrCat(i));
    EXPECT_EQ(clients[i]->Ask("POST", "/", "again").body, "again|");
  }
}

TEST_F(HttpLimitsTest, TheTailOfABodyIsReadApart) {
  Start({});
  Client client(server_->port());
  std::string large(3 << 20, 'a');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  for (const size_t at : {size_t{0}, size_t{1}, size_t{5000}, size_t{2 << 20}, large.size()}) {
    const Reply reply = client.Ask("POST", "/", large, absl::StrCat("X-Split: ", at, "\r\n"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, absl::StrCat(large.substr(0, at), "|", large.substr(at))) << at;
  }
}

// Whatever the pieces are in which requests come, and however late their replies.
TEST_F(HttpLimitsTest, RequestsComeInAnyPieces) {
  Start({});
  const auto seed = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  std::atomic<bool> ends = false;
  std::thread late([&] {
    while (!ends) {
      for (Held& each : TakeHeld()) each.respond({.body = each.request.body});
      std::this_thread::yield();
    }
  });
  std::string sent;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const bool held = random() % 2 == 0, chunked = random() % 3 == 0;
    const std::string body(random() % (random() % 10 == 0 ? 100'000 : 300), 'a' + i % 26);
    const std::string path = held ? "/held" : "/";
    if (chunked) {
      const size_t half = body.size() / 2;
      const std::string rest = body.size() > half ? Chunk(body.substr(half)) : "";
      sent += Post(path, kChunked,
                   absl::StrCat(half > 0 ? Chunk(body.substr(0, half)) : "", rest, "0\r\n\r\n"));
    } else {
      sent += Post(path, absl::StrCat("Content-Length: ", body.size(), "\r\n"), body);
    }
    expected.push_back(held ? body : body + "|");
  }
  Client client(server_->port());
  std::thread sends([&] {
    for (size_t at = 0; at < sent.size();) {
      const size_t piece = 1 + random() % (random() % 4 == 0 ? 50'000 : 500);
      client.Send(std::string_view(sent).substr(at, piece));
      at += piece;
    }
  });
  for (size_t i = 0; i < expected.size(); ++i) {
    const Reply reply = client.Read();
    ASSERT_EQ(reply.status, 200) << i;
    ASSERT_EQ(reply.body, expected[i]) << i;
  }
  sends.join();
  ends = true;
  late.join();
}

TEST_F(HttpLimitsTest, ThePortIsOpenWhileRequestsAreUnderWay) {
  Start({});
  Client busy(server_->port()), idle(server_->port());
  EXPECT_EQ(idle.Ask("GET", "/").status, 200);
  busy.Send(Post("/held", "Content-Length: 0\r\n"));
  AwaitHeld(1);
  std::future<bool> drained =
      std::async([&] { return server_->Drain(milliseconds(50), std::chrono::seconds(20)); });
  std::this_thread::sleep_for(milliseconds(200));
  Client later(server_->port());
  const Reply reply = later.Ask("POST", "/", "x");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Connection: close"));
  EXPECT_NE(drained.wait_for(milliseconds(0)), std::future_status::ready);
  TakeHeld()[0].respond({.body = "done"});
  EXPECT_EQ(busy.Read().body, "done");
  busy.Close();
  later.Close();
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(idle.IsClosed());
}

}  // namespace
}  // namespace onward::serving
