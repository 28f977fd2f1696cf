// The server as clients see it, over sockets.
#include "serving/server.h"

#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serving/client.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using nlohmann::json;
using onward::testing::Client;
using onward::testing::ModelFromText;
using onward::testing::Reply;
using ::testing::HasSubstr;

constexpr char kTwice[] =
    "g (float[n, 2] x, int64[k] k) => (float[n, 2] y, int64[k] z) { y = Add(x, x) z = Neg(k) }";
// A loop that takes as long as it is told.
constexpr char kSlow[] =
    "g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {"
    "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)"
    "  { d = Identity (c) w = Sin (v) }> }";
constexpr char kAsk[] =
    R"({"id":"7","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[[1.5,-2]]},)"
    R"({"name":"k","datatype":"INT64","shape":[3],"data":[1,2,3]}]})";

class ServerTest : public ::testing::Test {
 protected:
  static std::shared_ptr<ServedModel> Model(const std::string& name, const std::string& text) {
    auto model = ModelFromText(text);
    EXPECT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    EXPECT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create(name, *std::move(session));
    EXPECT_TRUE(served.ok()) << served.status();
    return served.ok() ? *served : nullptr;
  }

  void Start(ServerOptions options = {}) {
    options.address.port = 0;
    options.version = "0.1";
    auto server = Server::Start({Model("twice", kTwice), Model("slow model", kSlow)}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  static std::string Slow(int64_t trips) {
    return absl::StrCat(R"({"inputs":[{"name":"trips","datatype":"INT64","shape":[],"data":[)",
                        trips, R"(]},{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})");
  }

  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, HealthAndMetadata) {
  Start();
  Client client(server_->port());
  EXPECT_EQ(client.Ask("GET", "/v2/health/live").body, R"({"live":true})");
  EXPECT_EQ(client.Ask("GET", "/v2/health/ready").body, R"({"ready":true})");
  EXPECT_EQ(json::parse(client.Ask("GET", "/v2").body),
            json::parse(R"text({"name":"onward","version":"0.1","extensions":[
                "binary_tensor_data","classification","parameters","model_configuration",
                "schedule_policy","statistics","sequence","sequence(string_id)"]})text"));
  EXPECT_EQ(client.Ask("GET", "/v2/").status, 200);
  EXPECT_EQ(json::parse(client.Ask("GET", "/v2/models").body),
            json::parse(R"({"models":["slow model","twice"]})"));
  EXPECT_EQ(json::parse(client.Ask("GET", "/v2/models/slow%20model/ready?x=1").body),
            json::parse(R"({"name":"slow model","ready":true})"));
  const json expected = json::parse(
      R"({"name":"twice","versions":["1"],"platform":"onnx_onnxv1",
          "inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]},
                    {"name":"k","datatype":"INT64","shape":[-1]}],
          "outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]},
                     {"name":"z","datatype":"INT64","shape":[-1]}]})");
  EXPECT_EQ(json::parse(client.Ask("GET", "/v2/models/twice").body), expected);
  EXPECT_EQ(json::parse(client.Ask("GET", "/v2/models/twice/versions/1").body), expected);
}

TEST_F(ServerTest, Inference) {
  Start();
  Client client(server_->port());
  const Reply reply = client.Ask("POST", "/v2/models/twice/infer", kAsk);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_EQ(json::parse(reply.body),
            json::parse(R"({"model_name":"twice","model_version":"1","id":"7","outputs":[
                {"name":"y","datatype":"FP32","shape":[1,2],"data":[3,-4]},
                {"name":"z","datatype":"INT64","shape":[3],"data":[-1,-2,-3]}]})"));
  json asked = json::parse(kAsk);
  asked["outputs"] = {{{"name", "z"}}};
  asked["model_name"] = "ignored";
  const json one =
      json::parse(client.Ask("POST", "/v2/models/twice/versions/1/infer", asked.dump()).body);
  ASSERT_EQ(one["outputs"].size(), 1);
  EXPECT_EQ(one["outputs"][0]["name"], "z");
}

TEST_F(ServerTest, ErrorsLeaveTheConnectionUsable) {
  Start();
  Client client(server_->port());
  const auto error = [&](const std::string& method, const std::string& path,
                         const std::string& body, int status) {
    const Reply reply = client.Ask(method, path, body);
    EXPECT_EQ(reply.status, status) << path;
    EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/json\r\n"));
    return json::parse(reply.body)["error"].get<std::string>();
  };
  const std::string infer = "/v2/models/twice/infer";
  EXPECT_EQ(error("GET", "/v3", "", 404), "Not Found");
  EXPECT_THAT(error("GET", "/v2/models/twcie", "", 404), HasSubstr("did you mean 'twice'"));
  EXPECT_THAT(error("POST", "/v2/models/twice/versions/2/infer", kAsk, 404),
              HasSubstr("has no version 2, it has 1"));
  EXPECT_EQ(error("PUT", infer, "{}", 405), "Method Not Allowed");
  EXPECT_THAT(error("POST", infer, "{", 400), HasSubstr("is not JSON"));
  EXPECT_THAT(error("POST", infer, R"({"inputs":[]})", 400), HasSubstr("'x'"));
  json wrong = json::parse(kAsk);
  wrong["inputs"][0]["name"] = "X";
  EXPECT_THAT(error("POST", infer, wrong.dump(), 400), HasSubstr("'X'"));
  wrong = json::parse(kAsk);
  wrong["inputs"][0]["datatype"] = "FP64";
  EXPECT_THAT(error("POST", infer, wrong.dump(), 400), HasSubstr("float64"));
  wrong = json::parse(kAsk);
  wrong["inputs"][0]["shape"] = {2, 1};
  EXPECT_THAT(error("POST", infer, wrong.dump(), 400), HasSubstr("[2,1]"));
  wrong = json::parse(kAsk);
  wrong["outputs"] = {{{"name", "yy"}}};
  EXPECT_THAT(error("POST", infer, wrong.dump(), 400), HasSubstr("no output 'yy'"));
  EXPECT_EQ(client.Ask("POST", infer, kAsk).status, 200);
  EXPECT_THAT(client.Ask("DELETE", infer).head, HasSubstr("Allow: POST\r\n"));
  EXPECT_EQ(client.Ask("HEAD", "/v2").status, 405);
}

TEST_F(ServerTest, WaysToSendARequest) {
  Start();
  const std::string body = kAsk;
  const std::string line = "POST /v2/models/twice/infer HTTP/1.1\r\nhost: a\r\n";
  const std::string plain = absl::StrCat(line, "content-length: ", body.size(), "\r\n\r\n", body);
  Client client(server_->port());
  client.Send(plain + plain + plain);  // pipelined
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Read().status, 200);
  std::string chunks = line + "transfer-encoding: chunked\r\n\r\n";
  for (const char c : body) absl::StrAppend(&chunks, "1\r\n", std::string(1, c), "\r\n");
  client.Send(chunks + "0\r\n\r\n" + plain);
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read().status, 200);
  for (const char c : plain) client.Send(std::string(1, c));
  EXPECT_EQ(client.Read().status, 200);
  client.Send(
      absl::StrCat(line, "expect: 100-continue\r\ncontent-length: ", body.size(), "\r\n\r\n"));
  EXPECT_EQ(client.Read().status, 100);
  client.Send(body);
  EXPECT_EQ(client.Read().status, 200);
  client.Send("GET /v2 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.Read().head, HasSubstr("Connection: close"));
  EXPECT_TRUE(client.IsClosed());
  Client last(server_->port());
  last.Send("GET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(last.Read().status, 200);
  EXPECT_TRUE(last.IsClosed());
}

TEST_F(ServerTest, WhatIsInDoubtClosesTheConnection) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  Start(options);
  const std::string line = "POST /v2/models/twice/infer HTTP/1.1\r\n";
  const std::string host = "Host: a\r\n", long_text(70000, 'a');
  std::string many;
  for (int i = 0; i < 120; ++i) absl::StrAppend(&many, "x", i, ": 1\r\n");
  struct Case {
    std::string request;
    int status;
  };
  const Case cases[] = {
      {line + "\r\n", 400},
      {line + host + host + "\r\n", 400},
      {line + host + "X: a\r\n b\r\n\r\n", 400},
      {line + host + "Transfer-Encoding: gzip\r\n\r\n", 400},
      {line + host + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}", 400},
      {line + host + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
      {line + host + "Content-Length: +2\r\n\r\n{}", 400},
      {line + host + "Content-Length: -2\r\n\r\n{}", 400},
      {line + host + "Content-Length: 99999999999999999999\r\n\r\n{}", 400},
      {line + host + "Content-Length: 1001\r\n\r\n", 413},
      {line + host + "Transfer-Encoding: chunked\r\n\r\n400\r\n" + long_text + "\r\n", 413},
      {line + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET http://a/v2 HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /v2/%zz HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /" + long_text.substr(0, 9000) + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET /v2 HTTP/1.1\r\n" + host + "X: " + long_text + "\r\n\r\n", 431},
      {"GET /v2 HTTP/1.1\r\n" + host + many + "\r\n", 431},
      {"nonsense\r\n\r\n", 400},
      {line + host + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n", 417},
  };
  for (const Case& each : cases) {
    Client client(server_->port());
    // What follows must not be taken for a request.
    client.Send(each.request + "GET /v2 HTTP/1.1\r\nHost: a\r\n\r\n");
    const Reply reply = client.Read();
    EXPECT_EQ(reply.status, each.status) << each.request.substr(0, 100);
    EXPECT_TRUE(json::accept(reply.body)) << reply.body;
    EXPECT_TRUE(client.IsClosed()) << each.request.substr(0, 100);
  }
  Client client(server_->port());
  EXPECT_EQ(client.Ask("POST", "/v2/models/twice/infer", kAsk).status, 200);
}

TEST_F(ServerTest, DeadlinesOfHeads) {
  ServerOptions options;
  options.limits.head_deadline = std::chrono::seconds(1);
  options.limits.idle_deadline = std::chrono::seconds(1);
  Start(options);
  Client slow(server_->port()), idle(server_->port());
  slow.Send("GET /v2 HTTP/1.1\r\n");
  EXPECT_EQ(slow.Read().status, 408);
  EXPECT_TRUE(slow.IsClosed());
  EXPECT_TRUE(idle.IsClosed());
}

TEST_F(ServerTest, WhoComesWhenTooManyWaitIsRefused) {
  ServerOptions options;
  options.scheduling.most_waiting = 1;
  Start(options);
  // One computes, at most one waits; the rest is refused, and health is answered meanwhile.
  std::atomic<int> answered = 0, refused = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 6; ++k) {
    clients.emplace_back([&] {
      Client client(server_->port());
      const Reply reply = client.Ask("POST", "/v2/models/slow%20model/infer", Slow(200'000));
      answered += reply.status == 200;
      if (reply.status != 503) return;
      ++refused;
      EXPECT_THAT(reply.head, HasSubstr("Retry-After: 1\r\n"));
      EXPECT_THAT(reply.body, HasSubstr("too many requests wait already"));
    });
  }
  Client health(server_->port());
  EXPECT_EQ(health.Ask("GET", "/v2/health/live").status, 200);
  for (std::thread& client : clients) client.join();
  EXPECT_GE(answered, 1);
  EXPECT_GE(refused, 1);
  EXPECT_EQ(answered + refused, 6);
}

TEST_F(ServerTest, ClientsAtOnce) {
  ServerOptions options;
  options.scheduling.cores = 2;
  Start(options);
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 8; ++k) {
    clients.emplace_back([&, k] {
      Client client(server_->port());
      for (int i = 0; i < 50; ++i) {
        json asked = json::parse(kAsk);
        asked["inputs"][0]["data"] = {k, i};
        const json answer =
            json::parse(client.Ask("POST", "/v2/models/twice/infer", asked.dump()).body);
        right += answer["outputs"][0]["data"] == json({2 * k, 2 * i});
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 8 * 50);
}

// A request that waits frees its place, one that runs ends, once nobody reads the reply.
TEST_F(ServerTest, AClientThatLeavesFreesItsPlace) {
  Start();
  const auto ask = [&](Client& client, int64_t trips) {
    const std::string body = Slow(trips);
    client.Send(absl::StrCat("POST /v2/models/slow%20model/infer HTTP/1.1\r\nHost: a\r\n",
                             "Content-Length: ", body.size(), "\r\n\r\n", body));
  };
  constexpr int64_t kForever = int64_t{1} << 60;
  for (int round = 0; round < 20; ++round) {
    Client runs(server_->port()), waits(server_->port()), next(server_->port());
    ask(runs, kForever);
    ask(waits, kForever);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ask(next, 10);
    waits.Close();
    runs.Close();
    EXPECT_EQ(next.Read().status, 200);
  }
}

TEST_F(ServerTest, ALargeBodyIsRefusedBeforeItIsRead) {
  ServerOptions options;
  options.scheduling.most_waiting = 0;
  Start(options);
  Client client(server_->port());
  client.Send("POST /v2/models/twice/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  const Reply reply = client.Read();
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerTest, WithoutAKeyNoLargeBodyIsRead) {
  const onward::testing::ScratchDirectory directory;
  ServerOptions options;
  options.keys.api = *KeyList::Read(directory.Write("keys", "key-of-a-client\n"));
  Start(options);
  // No byte of the body is ever sent.
  for (const std::string length : {"Content-Length: 100000", "Transfer-Encoding: chunked",
                                   "Expect: 100-continue\r\nContent-Length: 100000"}) {
    const auto ask = [&](const std::string& path, const std::string& key) {
      Client client(server_->port());
      client.Send(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: a\r\n", key, length, "\r\n\r\n"));
      const Reply reply = client.Read();
      EXPECT_TRUE(client.IsClosed());
      return reply.status;
    };
    EXPECT_EQ(ask("/v2/models/twice/infer", ""), 401) << length;
    EXPECT_EQ(ask("/v2/models/twice/infer", "Authorization: Bearer wrong\r\n"), 403) << length;
    EXPECT_EQ(ask("/v2/repository/models/twice/load", "Authorization: Bearer key-of-a-client\r\n"),
              403)
        << length;
  }
  Client client(server_->port());
  EXPECT_EQ(client
                .Ask("POST", "/v2/models/twice/infer", kAsk + std::string(100000, ' '),
                     "Authorization: Bearer key-of-a-client\r\n")
                .status,
            200);
}

TEST_F(ServerTest, StopAnswersWhatIsUnderWay) {
  Start();
  Client idle(server_->port()), busy(server_->port());
  EXPECT_EQ(idle.Ask("GET", "/v2").status, 200);
  const std::string body = Slow(1'000'000);
  busy.Send(absl::StrCat("POST /v2/models/slow%20model/infer HTTP/1.1\r\nHost: a\r\n",
                         "Content-Length: ", body.size(), "\r\n\r\n", body));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(server_->Stop(std::chrono::seconds(20)));
  const Reply reply = busy.Read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Connection: close"));
  EXPECT_TRUE(idle.IsClosed());
}

// Who asks while the server stops hears so: the port is open as long as something is under way.
TEST_F(ServerTest, ReadinessEndsBeforeThePortCloses) {
  Start();
  Client busy(server_->port());
  const std::string body = Slow(int64_t{1} << 60);
  busy.Send(absl::StrCat("POST /v2/models/slow%20model/infer HTTP/1.1\r\nHost: a\r\n",
                         "Content-Length: ", body.size(), "\r\n\r\n", body));
  // Requests that came later have their replies: this one has been read.
  Client later(server_->port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(later.Ask("GET", "/v2/health/live").status, 200);
  std::future<bool> stopped = std::async([&] { return server_->Stop(std::chrono::seconds(20)); });
  int ready = 200;
  while (ready == 200) ready = Client(server_->port()).Ask("GET", "/v2/health/ready").status;
  EXPECT_EQ(ready, 503);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(Client(server_->port()).Ask("GET", "/v2/health/ready").status, 503);
  EXPECT_EQ(Client(server_->port()).Ask("GET", "/v2/health/live").status, 200);
  const Reply refused = Client(server_->port()).Ask("POST", "/v2/models/twice/infer", kAsk);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("the server is stopping"));
  EXPECT_NE(stopped.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  busy.Close();
  EXPECT_TRUE(stopped.get());
}

TEST_F(ServerTest, AddressesThatCannotBe) {
  Start();
  ServerOptions options;
  options.address.port = server_->port();
  EXPECT_THAT(std::string(Server::Start({}, options).status().message()),
              HasSubstr("is taken by another process"));
  options.address.host = "nowhere.example";
  EXPECT_THAT(std::string(Server::Start({}, options).status().message()),
              HasSubstr("'nowhere.example' is not an address"));
}

TEST_F(ServerTest, WhatCannotCrossIsRefusedAtLoad) {
  auto model = ModelFromText("g (seq(float[n]) s) => (int64 n) { n = SequenceLength(s) }");
  ASSERT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto served = ServedModel::Create("m", *std::move(session));
  EXPECT_THAT(std::string(served.status().message()), HasSubstr("input 's' is"));
  auto plain = ModelFromText(kTwice);
  auto again = Session::Create(*std::move(plain));
  EXPECT_THAT(std::string(ServedModel::Create("a/b", *std::move(again)).status().message()),
              HasSubstr("cannot be the name"));
}

}  // namespace
}  // namespace onward::serving
