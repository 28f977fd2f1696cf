// The order in which the network's thread serves new connections and those that are busy.
#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serving/http/http_server.h"
#include "tests/serving/client.h"

namespace onward::serving {
namespace {

using onward::testing::Client;

std::string Get(const std::string& path) { return "GET /" + path + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

// Notes which requests came in which order; /wait keeps the thread until the test lets it go.
class NewcomersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HttpHandler handler;
    handler.handle = [this](const HttpRequest& request, const HttpResponder& respond) {
      const std::string& path = request.segments.front();
      order_.push_back(path);
      if (path == "wait") {
        waits_.set_value();
        go_.get_future().wait();
      }
      respond({});
    };
    auto server = HttpServer::Listen({.port = 0}, {}, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::unique_ptr<Client> Connect() const { return std::make_unique<Client>(server_->port()); }

  std::unique_ptr<HttpServer> server_;
  std::vector<std::string> order_;  // of the network's thread, until the server has ended
  std::promise<void> waits_, go_;
};

TEST_F(NewcomersTest, TheyDoNotWaitForEachRequestOfBusyConnections) {
  constexpr size_t kBusy = 8, kRequests = 400, kNewcomers = 64;
  std::vector<std::unique_ptr<Client>> busy, newcomers;
  for (size_t i = 0; i < kBusy; ++i) {
    busy.push_back(Connect());
    EXPECT_EQ(busy.back()->Ask("GET", "/first").status, 200);
  }
  const auto waiting = Connect();
  waiting->Send(Get("wait"));
  waits_.get_future().wait();
  std::string requests;
  for (size_t i = 0; i < kRequests; ++i) requests += Get("busy");
  for (const auto& client : busy) client->Send(requests);
  for (size_t i = 0; i < kNewcomers; ++i) {
    newcomers.push_back(Connect());
    newcomers.back()->Send(Get("new"));
  }
  go_.set_value();
  for (const auto& client : newcomers) EXPECT_EQ(client->Read().status, 200);
  for (const auto& client : busy)
    for (size_t i = 0; i < kRequests; ++i) ASSERT_EQ(client->Read().status, 200);
  server_.reset();
  const auto last = std::find(order_.rbegin(), order_.rend(), "new");
  // A connection at a time would be kNewcomers rounds of the busy ones' requests.
  EXPECT_LT(std::count(last, order_.rend(), "busy"), kBusy * kNewcomers / 2);
}

}  // namespace
}  // namespace onward::serving
