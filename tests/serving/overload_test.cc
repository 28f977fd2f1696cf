// More requests than the server takes, and clients that leave. Nothing depends on how fast the
// machine is: a request that runs until its client leaves holds the only core.
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using nlohmann::json;
using onward::testing::Client;
using onward::testing::ModelFromText;
using onward::testing::Reply;
using ::testing::HasSubstr;

constexpr char kTwice[] = "g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }";
constexpr char kEndless[] =
    "g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {"
    "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)"
    "  { d = Identity (c) w = Sin (v) }> }";

class OverloadTest : public ::testing::Test {
 protected:
  static std::shared_ptr<ServedModel> Model(const std::string& name, const std::string& text) {
    auto model = ModelFromText(text);
    EXPECT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    EXPECT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create(name, *std::move(session));
    EXPECT_TRUE(served.ok()) << served.status();
    return *std::move(served);
  }

  // One core; waits are bounded by numbers and bytes, not by time.
  void Start(size_t most_waiting, int64_t most_bytes = 1 << 30) {
    ServerOptions options;
    options.address.port = 0;
    options.scheduling.cores = 1;
    options.scheduling.max_wait = std::chrono::hours(24);
    options.scheduling.most_waiting = most_waiting;
    options.scheduling.most_waiting_bytes = most_bytes;
    twice_ = Model("twice", kTwice);
    endless_ = Model("endless", kEndless);
    auto server = Server::Start({twice_, endless_}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  static std::string Infer(const std::string& model, const std::string& body) {
    return absl::StrCat("POST /v2/models/", model, "/infer HTTP/1.1\r\nHost: test\r\n",
                        "Content-Length: ", body.size(), "\r\n\r\n", body);
  }
  static std::string Twice(int value) {
    return Infer("twice", absl::StrCat(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],)",
                                       "\"data\":[", value, ",-", value, "]}]}"));
  }
  // Whether the reply is the right one; a refusal is not.
  static bool IsRight(const Reply& reply, int value) {
    if (reply.status != 200) return false;
    return json::parse(reply.body)["outputs"][0]["data"] == json({2 * value, -2 * value});
  }
  static void ExpectRefused(const Reply& reply) {
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.head, HasSubstr("Retry-After: "));
    EXPECT_THAT(reply.body, HasSubstr("overloaded"));
  }

  // Waits until it holds; a test that hangs is ended by its time limit.
  static void Await(const std::function<bool()>& holds) {
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static int64_t Waiting(const ServedModel& model) { return model.statistics().Read().pending; }

  // Takes the only core until the client that is returned is gone.
  std::unique_ptr<Client> Hold() {
    auto client = std::make_unique<Client>(server_->port());
    EXPECT_EQ(client->Ask("GET", "/v2/health/live").status, 200);
    client->Send(Infer("endless", R"({"inputs":[{"name":"trips","datatype":"INT64","shape":[],)"
                                  R"("data":[4000000000000]},)"
                                  R"({"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})"));
    // Requests that came later have their replies: the network's thread has read this one.
    Client later(server_->port());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(later.Ask("GET", "/v2/health/live").status, 200);
    Await([&] { return Waiting(*endless_) == 0; });  // it runs
    return client;
  }

  std::shared_ptr<ServedModel> twice_, endless_;
  std::unique_ptr<Server> server_;
};

using Clients = std::vector<std::unique_ptr<Client>>;

TEST_F(OverloadTest, RepliesAreRightOrRefusals) {
  constexpr int kWaiting = 8;
  Start(kWaiting);
  auto holder = Hold();
  Clients waiting;
  for (int i = 0; i < kWaiting; ++i) {
    waiting.push_back(std::make_unique<Client>(server_->port()));
    waiting.back()->Send(Twice(i));
    Await([&] { return Waiting(*twice_) == i + 1; });
  }
  Client refused(server_->port());
  for (int i = 0; i < 50; ++i) {
    refused.Send(Twice(i));
    ExpectRefused(refused.Read());
  }
  // Others than inference wait for nobody.
  EXPECT_EQ(refused.Ask("GET", "/v2/health/ready").status, 200);
  holder.reset();
  for (int i = 0; i < kWaiting; ++i)
    EXPECT_TRUE(IsRight(waiting[static_cast<size_t>(i)]->Read(), i)) << i;
  Await([&] { return Waiting(*twice_) == 0; });
  refused.Send(Twice(7));
  EXPECT_TRUE(IsRight(refused.Read(), 7));
}

TEST_F(OverloadTest, ClientsThatLeaveLeaveNothing) {
  constexpr int kWaiting = 4;
  const auto bytes = static_cast<int64_t>(Twice(1).size());
  Start(kWaiting, kWaiting * bytes);
  auto holder = Hold();
  for (int round = 0; round < 20; ++round) {
    Clients waiting;
    for (int i = 0; i < kWaiting; ++i) {
      waiting.push_back(std::make_unique<Client>(server_->port()));
      waiting.back()->Send(Twice(i));
    }
    Await([&] { return Waiting(*twice_) == kWaiting; });
    waiting.clear();
    Await([&] { return Waiting(*twice_) == 0; });
  }
  holder.reset();
  Client lone(server_->port());
  lone.Send(Twice(3));
  EXPECT_TRUE(IsRight(lone.Read(), 3));
  const StatisticsSnapshot sums = twice_->statistics().Read();
  EXPECT_EQ(sums.failures[static_cast<size_t>(Failure::kCanceled)], 20 * kWaiting);
  EXPECT_EQ(sums.inference_count, 1);
}

// Clients of every kind at once: they wait for the reply, leave while they send, or right after.
TEST_F(OverloadTest, ManyClientsThatComeAndGo) {
  Start(3);
  const auto seed = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::atomic<int> wrong = 0, replies = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      for (int i = 0; i < 50; ++i) {
        Client client(server_->port());
        const std::string request = Twice(i);
        if (random() % 3 == 0) {
          client.Send(request.substr(0, random() % (request.size() + 1)));
          continue;
        }
        client.Send(request);
        const Reply reply = client.Read();
        ++replies;
        if (!IsRight(reply, i) && reply.status != 503) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(replies, 100);
  Await([&] { return Waiting(*twice_) == 0; });
  Client lone(server_->port());
  lone.Send(Twice(3));
  EXPECT_TRUE(IsRight(lone.Read(), 3));
}

// A server may go while its clients ask.
TEST_F(OverloadTest, ServersGoAtAnyMoment) {
  for (int round = 0; round < 30; ++round) {
    Start(100);
    std::vector<std::thread> clients;
    std::atomic<int> right = 0;
    for (int t = 0; t < 4; ++t) {
      clients.emplace_back([&, client = std::make_shared<Client>(server_->port())] {
        Reply reply{200, "", ""};
        for (int i = 0; reply.status != 0; ++i) {
          client->Send(Twice(i));
          reply = client->Read();
          right += IsRight(reply, i);
        }
      });
    }
    Await([&] { return right >= 20; });
    server_.reset();
    for (std::thread& client : clients) client.join();
  }
}

// A client that sends its whole body before it reads gets the refusal all the same.
TEST_F(OverloadTest, RefusalsReachClientsThatKeepSending) {
  ServerOptions options;
  options.address.port = 0;
  options.limits.body_bytes = 1000;
  auto server = Server::Start({Model("twice", kTwice)}, options);
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 3; ++i) {
    Client client((*server)->port());
    client.Send(Infer("twice", std::string(16 << 20, ' ')));
    EXPECT_EQ(client.Read().status, 413);
    EXPECT_TRUE(client.IsClosed());
  }
}

}  // namespace
}  // namespace onward::serving
