// The client, against our server and against bytes that no server should send.
#include "serving/client/http_client.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/client/infer_call.h"
#include "serving/client/load.h"
#include "serving/client/server_url.h"
#include "serving/server.h"
#include "tests/serving/canned_server.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using onward::testing::CannedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ServerUrl, HostsPortsPathsAndSockets) {
  const auto plain = ReadServerUrl("http://127.0.0.1:8000");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 8000);
  EXPECT_FALSE(plain->encrypted);
  EXPECT_EQ(ReadServerUrl("localhost:81")->HostField(), "localhost:81");
  EXPECT_EQ(ReadServerUrl("http://a")->port, 80);
  const auto behind = ReadServerUrl("https://[::1]/a/b/");
  ASSERT_TRUE(behind.ok());
  EXPECT_EQ(behind->HostField(), "[::1]:443");
  EXPECT_EQ(behind->path, "/a/b");
  EXPECT_TRUE(behind->encrypted);
  EXPECT_EQ(ReadServerUrl("unix:/run/a b")->unix_path, "/run/a b");
  for (const char* wrong :
       {"", "http://", "http://:80", "http://a:0", "http://a:65536", "a:b", "http://a b",
        "http://[::1", "unix:", "http://a/?q", "http://u@a", "http://a\r\nX: y"})
    EXPECT_TRUE(absl::IsInvalidArgument(ReadServerUrl(wrong).status())) << wrong;
}

// The body of the reply, or the error.
std::string AskOf(const CannedServer& server) {
  HttpClientOptions options{server.url()};
  const auto client = HttpClient::Create(options);
  EXPECT_TRUE(client.ok()) << client.status();
  const auto reply = (*client)->Ask({"GET", "/"});
  return reply.ok() ? reply->body : "error: " + std::string(reply.status().message());
}

std::string AskOf(const std::string& bytes) { return AskOf(CannedServer(bytes)); }

TEST(HttpClient, BodiesByLengthInChunksAndUntilTheEnd) {
  EXPECT_EQ(AskOf("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "hello");
  EXPECT_EQ(AskOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n"
                  "0\r\n\r\n"),
            "hello");
  EXPECT_EQ(AskOf("HTTP/1.1 200 OK\r\n\r\nhello"), "hello");
  EXPECT_EQ(AskOf("HTTP/1.1 204 No Content\r\n\r\n"), "");
  EXPECT_EQ(AskOf("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            "ok");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(
      AskOf(absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", large.size(), "\r\n\r\n", large)),
      large);
}

TEST(HttpClient, StrangersBytesAreErrors) {
  EXPECT_THAT(AskOf(""), HasSubstr("closed the connection without a reply"));
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
              HasSubstr("inside its reply"));
  EXPECT_THAT(AskOf("SSH-2.0-OpenSSH\r\n\r\n"), HasSubstr("is not HTTP/1.1"));
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello"),
              HasSubstr("is not HTTP/1.1"));
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
              HasSubstr("is not HTTP/1.1"));
  // Nothing is allocated on the server's word.
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\nhel"),
              HasSubstr("inside its reply"));
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nContent-Length: 1073741825\r\n\r\n"),
              HasSubstr("larger than 1073741824 bytes"));
  EXPECT_THAT(AskOf("HTTP/1.1 200 OK\r\nX: " + std::string(200000, 'x')),
              HasSubstr("header is longer than"));
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_THAT(AskOf(interim), HasSubstr("interim"));
}

TEST(HttpClient, WhoIsNotThereAndWhoIsSilent) {
  std::string url;
  {
    const CannedServer server("");
    url = server.url();
  }
  const auto client = HttpClient::Create({url});
  ASSERT_TRUE(client.ok());
  const auto nobody = (*client)->Ask({"GET", "/"});
  EXPECT_TRUE(absl::IsUnavailable(nobody.status()));
  EXPECT_THAT(std::string(nobody.status().message()), HasSubstr("cannot connect to 127.0.0.1:"));
  const CannedServer silent("HTTP/1.1 200 OK\r\n", /*stays=*/true);
  HttpClientOptions options{silent.url()};
  options.most = std::chrono::milliseconds(20);
  const auto waits = HttpClient::Create(options);
  ASSERT_TRUE(waits.ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded((*waits)->Ask({"GET", "/"}).status()));
}

TEST(HttpClient, ConnectionsAreKeptWhereTheServerKeepsThem) {
  const CannedServer closes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  const auto client = HttpClient::Create({closes.url()});
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*client)->Ask({"GET", "/"})->body, "ok");
  EXPECT_EQ(closes.connections(), 3);
}

class ServedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = onward::testing::ModelFromText(
        "g (float[n, 2] x, string[k] s) => (float[n, 2] y, string[k] t)"
        "{ y = Add(x, x) t = Identity(s) }");
    ASSERT_TRUE(model.ok()) << model.status();
    auto session = Session::Create(*std::move(model), {.num_threads = 1});
    ASSERT_TRUE(session.ok()) << session.status();
    auto served = ServedModel::Create("a model", *std::move(session));
    ASSERT_TRUE(served.ok()) << served.status();
    ServerOptions options;
    options.address.port = 0;
    options.keys.api = *KeyList::Read(directory_.Write("keys", "# a key\nkey-1\n"));
    auto server = Server::Start({*served}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    http_ = {absl::StrCat("http://127.0.0.1:", server_->port())};
    http_.key = options.keys.api->first();
  }

  static Session::Inputs Inputs() {
    return {{"x", Value(Tensor::Of<float>({1, 2}, {1.5F, -2}))},
            {"s", Value(Tensor::Of<std::string>({1}, {"text"}))}};
  }

  testing::ScratchDirectory directory_;
  std::unique_ptr<Server> server_;
  HttpClientOptions http_;
};

TEST_F(ServedTest, MetadataAndInference) {
  const auto client = HttpClient::Create(http_);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(ModelPath("a model", "1"), "/v2/models/a%20model/versions/1");
  const auto metadata = (*client)->Ask({"GET", ModelPath("a model", "")});
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  const auto declared = ReadModelInputs(metadata->body);
  ASSERT_TRUE(declared.ok()) << declared.status();
  ASSERT_EQ(declared->size(), 2);
  EXPECT_EQ((*declared)[0].name, "x");
  EXPECT_EQ((*declared)[0].type.dtype, DType::kFloat32);
  EXPECT_FALSE((*declared)[0].type.shape->at(0).known());
  EXPECT_EQ((*declared)[0].type.shape->at(1).value(), 2);
  EXPECT_EQ((*declared)[1].type.dtype, DType::kString);
  for (const bool binary : {true, false}) {
    const auto request = WriteInferCall("a model", "", Inputs(), binary);
    ASSERT_TRUE(request.ok()) << request.status();
    const auto reply = (*client)->Ask(*request);
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->status, 200) << reply->body;
    const auto outputs = ReadInferOutputs(*reply);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ(outputs->size(), 2);
    EXPECT_EQ((*outputs)[0].first, "y");
    EXPECT_THAT((*outputs)[0].second.span<float>(), ElementsAre(3, -4));
    EXPECT_THAT((*outputs)[1].second.span<std::string>(), ElementsAre("text"));
  }
}

TEST_F(ServedTest, RefusalsAreStatuses) {
  const auto client = HttpClient::Create(http_);
  ASSERT_TRUE(client.ok());
  const absl::Status missing = StatusOfServer(*(*client)->Ask({"GET", ModelPath("a modle", "")}));
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("404: "));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("did you mean 'a model'"));
  http_.key = "wrong";
  const auto stranger = HttpClient::Create(http_);
  EXPECT_TRUE(absl::IsPermissionDenied(
      StatusOfServer(*(*stranger)->Ask({"GET", ModelPath("a model", "")}))));
}

TEST_F(ServedTest, ALoadIsWhole) {
  std::vector<ClientRequest> requests;
  for (const float first : {1.5f, 4.0f}) {
    Session::Inputs inputs = Inputs();
    Tensor x = inputs.at("x").tensor().Clone();
    x.mutable_data<float>()[0] = first;
    inputs["x"] = Value(std::move(x));
    auto request = WriteInferCall("a model", "", inputs, true);
    ASSERT_TRUE(request.ok()) << request.status();
    requests.push_back(*std::move(request));
  }
  int asked = 0;
  LoadOptions options{2000, std::chrono::duration<double>(0.1), 3};
  options.is_right = [&asked](const ServerReply& reply, size_t request) {
    const auto outputs = ReadInferOutputs(reply);
    const float expected = request == 0 ? 3 : 8;
    return outputs.ok() && (*outputs)[0].second.data<float>()[0] == expected && ++asked % 10 != 0;
  };
  const auto report = RunLoad(http_, requests, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->planned, 200);
  EXPECT_EQ(report->replies, 200);
  EXPECT_EQ(report->right, 180);
  EXPECT_EQ(report->wrong, 20);
  EXPECT_THAT(report->by_status, ElementsAre(std::pair(200, 200)));
  EXPECT_EQ(report->latencies.size(), 200);
  EXPECT_TRUE(report->lost.empty());
  options.rate = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(RunLoad(http_, requests, options).status()));
}

// A server that does not reply cannot slow the load down: latencies count from the planned times.
TEST(Load, RequestsWithoutAReplyAreCounted) {
  const CannedServer silent("", /*stays=*/true);
  HttpClientOptions http{silent.url()};
  http.most = std::chrono::milliseconds(50);
  const auto report =
      RunLoad(http, {ClientRequest{"GET", "/"}},
              {.rate = 100, .time = std::chrono::duration<double>(0.1), .connections = 2});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->planned, 10);
  EXPECT_EQ(report->replies, 0);
  int64_t lost = 0;
  for (const auto& [reason, count] : report->lost) lost += count;
  EXPECT_EQ(lost, 10);
  EXPECT_GE(report->lost.at("there was no reply within 50 ms"), 2);
}

TEST(InferCall, WhatIsNotTheProtocolsIsAnError) {
  const auto outputs = [](const std::string& body, const HttpFields& fields = {}) {
    return std::string(ReadInferOutputs({200, fields, body}).status().message());
  };
  EXPECT_THAT(outputs("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(outputs("{}"), HasSubstr("outputs: is missing"));
  EXPECT_THAT(outputs(R"({"outputs":[{"name":"y","datatype":"FP32","shape":[9999999999999],)"
                      R"("data":[]}]})"),
              HasSubstr("more elements than the body has room for"));
  EXPECT_THAT(outputs(R"({"outputs":[{"name":"y","datatype":"FP32","shape":[1],)"
                      R"("parameters":{"binary_data_size":4}}]})",
                      {{"inference-header-content-length", "500"}}),
              HasSubstr("is more than the body"));
  EXPECT_THAT(
      std::string(
          ReadModelInputs(R"({"inputs":[{"name":"x","datatype":"FP33"}]})").status().message()),
      HasSubstr("'FP33' is not one of the protocol's"));
}

TEST(InferCall, OutputsAreCompared) {
  const auto y = [](const Tensor& tensor) { return NamedTensors{{"y", tensor}}; };
  const NamedTensors expected = y(Tensor::Of<float>({3}, {100, 0, NAN}));
  EXPECT_TRUE(CompareOutputs(expected, y(Tensor::Of<float>({3}, {100.5F, 0.5F, NAN})), 0.01).ok());
  EXPECT_THAT(
      std::string(
          CompareOutputs(expected, y(Tensor::Of<float>({3}, {100, 2, NAN})), 0.01).message()),
      HasSubstr("'y' differs at element 1"));
  EXPECT_FALSE(CompareOutputs(expected, y(Tensor::Of<float>({3}, {100, 0, 0})), 0.01).ok());
  EXPECT_THAT(
      std::string(
          CompareOutputs(expected, y(Tensor::Of<float>({1, 3}, {100, 0, NAN})), 0.01).message()),
      HasSubstr("'y' FP32 [1,3], expected 'y' FP32 [3]"));
  EXPECT_FALSE(CompareOutputs(expected, {}, 0.01).ok());
  const NamedTensors whole = y(Tensor::Of<int64_t>({1}, {5}));
  EXPECT_TRUE(CompareOutputs(whole, y(Tensor::Of<int64_t>({1}, {5})), 0).ok());
  EXPECT_FALSE(CompareOutputs(whole, y(Tensor::Of<int64_t>({1}, {6})), 1).ok());
}

}  // namespace
}  // namespace onward::serving
