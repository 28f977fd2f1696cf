// Memory runs out on the threads of a server, at each allocation that a request causes in turn: the
// client has a reply or its connection is closed, and the next ones are served.
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serving/memory_reserve.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/serving/failing_memory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using nlohmann::json;
using onward::testing::Client;
using onward::testing::FailElsewhere;
using onward::testing::Reply;
using onward::testing::StopFailing;

constexpr char kBody[] =
    R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[3,4]}]})";

std::string Post(const std::string& fields, const std::string& body) {
  return absl::StrCat("POST /v2/models/twice/infer HTTP/1.1\r\nHost: test\r\n", fields, "\r\n",
                      body);
}

std::string Infer() {
  return Post(absl::StrCat("Content-Length: ", sizeof(kBody) - 1, "\r\n"), kBody);
}

std::string InChunks() {
  std::string body;
  for (const char each : std::string(kBody))
    absl::StrAppend(&body, "1\r\n", std::string(1, each), "\r\n");
  return Post("Transfer-Encoding: chunked\r\n", body + "0\r\n\r\n");
}

std::string Binary() {
  const std::string head =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],)"
      R"("parameters":{"binary_data_size":8}}],"parameters":{"binary_data_output":true}})";
  return Post(absl::StrCat("Inference-Header-Content-Length: ", head.size(),
                           "\r\nContent-Length: ", head.size() + 8, "\r\n"),
              head + std::string("\0\0\x40\x40\0\0\x80\x40", 8));
}

std::string Get(const std::string& path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: test\r\n\r\n");
}

class NetworkMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model =
        onward::testing::ModelFromText("g (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1, .check_rows = true});
    ASSERT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create("twice", *std::move(session));
    ASSERT_TRUE(served.ok()) << served.status();
    ServerOptions options;
    options.address.port = 0;
    options.scheduling.cores = 1;
    auto server = Server::Start({*std::move(served)}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void ExpectServed(const std::string& after) {
    Client client(server_->port());
    client.Send(Infer());
    const Reply reply = client.Read();
    ASSERT_EQ(reply.status, 200) << after << ": " << reply.body;
    EXPECT_EQ(json::parse(reply.body)["outputs"][0]["data"], json({6, 8})) << after;
  }

  // `fresh`: the connection is made while memory lacks, too. Returns whether an allocation failed.
  bool FailAt(const std::string& request, int status, int number, bool all, bool fresh) {
    const std::string what = absl::StrCat("allocation ", number, all ? " and all later" : "",
                                          fresh ? " of a new connection" : "");
    std::unique_ptr<Client> client;
    if (!fresh) {
      client = std::make_unique<Client>(server_->port());
      client->Send(Infer());
      EXPECT_EQ(client->Read().status, 200);
    }
    const auto begin = std::chrono::steady_clock::now();
    FailElsewhere(number, all);
    if (fresh) client = std::make_unique<Client>(server_->port());
    client->Send(request);
    const Reply reply = client->Read();
    const bool failed = StopFailing();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15)) << what;
    EXPECT_TRUE(reply.status == status || reply.status == 503 || reply.status == 0)
        << what << ": " << reply.status << reply.body;
    RefillMemoryReserve();
    ExpectServed(what);
    return failed;
  }

  // At each of the first allocations, then at ever fewer.
  void FailAtEach(const std::string& request, int status = 200) {
    std::mt19937 draw(3);
    for (const bool fresh : {false, true}) {
      for (const bool all : {false, true}) {
        int number = 0;
        while (number < 20000 && FailAt(request, status, number, all, fresh) && !HasFailure())
          number += number < 300 ? 1 : std::uniform_int_distribution<>(1, number / 50)(draw);
        EXPECT_GT(number, 3);
        EXPECT_LT(number, 20000);
      }
    }
  }

  std::unique_ptr<Server> server_;
};

TEST_F(NetworkMemoryTest, OfInferences) { FailAtEach(Infer()); }
TEST_F(NetworkMemoryTest, OfChunks) { FailAtEach(InChunks()); }
TEST_F(NetworkMemoryTest, OfBinaryTensors) { FailAtEach(Binary()); }
TEST_F(NetworkMemoryTest, OfProbes) {
  for (const char* path : {"/v2/health/live", "/v2/health/ready", "/v2/models/twice/ready"})
    FailAtEach(Get(path));
}

// Asio keeps the state of sockets that were closed for the next ones: here there is none.
TEST_F(NetworkMemoryTest, OfConnectionsBesideOthers) {
  std::vector<std::unique_ptr<Client>> others;
  bool failed = true;
  for (int number = 0; failed && number < 1000; ++number) {
    others.push_back(std::make_unique<Client>(server_->port()));
    others.back()->Send(Infer());
    EXPECT_EQ(others.back()->Read().status, 200);
    failed = FailAt(Infer(), 200, number, /*all=*/false, /*fresh=*/true);
    if (HasFailure()) break;
  }
  EXPECT_GT(others.size(), 10);
  EXPECT_FALSE(failed);
}

// Documents of JSON allocate in their destructors, which must not fail.
class ReservedMemoryTest : public NetworkMemoryTest {
 protected:
  void SetUp() override {
    KeepMemoryReserve();
    NetworkMemoryTest::SetUp();
  }
  void TearDown() override { std::set_new_handler(nullptr); }
};

TEST_F(ReservedMemoryTest, OfMetadata) { FailAtEach(Get("/v2/models/twice")); }
TEST_F(ReservedMemoryTest, OfMetrics) { FailAtEach(Get("/metrics")); }
TEST_F(ReservedMemoryTest, OfStatistics) { FailAtEach(Get("/v2/models/stats")); }
TEST_F(ReservedMemoryTest, OfDescriptions) { FailAtEach(Get("/openapi.json")); }
TEST_F(ReservedMemoryTest, OfBadRequests) { FailAtEach(Get("/v2/models/nothing"), 404); }

}  // namespace
}  // namespace onward::serving
