// What calls have in common: keys, limits, deadlines, clients that leave, the end of a server.
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/serving/grpc/grpc_client.h"
#include "tests/serving/grpc/grpc_stream.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using serving::KeyList;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kTwice[] = "g (float[n, 2] x) => (float[n, 2] y) { y = Add (x, x) }";
// A loop that takes as long as it is told.
constexpr char kSlow[] =
    "g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {"
    "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)"
    "  { d = Identity (c) w = Sin (v) }> }";
constexpr int64_t kForever = int64_t{1} << 60;

class GrpcCallsTest : public testing::GrpcTest {
 protected:
  static inference::ModelInferRequest Quick() { return RawRequest("twice", "x", {1, 2}, {1, 2}); }
  static inference::ModelInferRequest Slow(int64_t trips) {
    inference::ModelInferRequest request = RawRequest("slow", "x", {1}, {1});
    auto& input = *request.add_inputs();
    input.set_name("trips");
    input.set_datatype("INT64");
    request.add_raw_input_contents(reinterpret_cast<const char*>(&trips), sizeof(trips));
    return request;
  }
  grpc::StatusCode CodeOf(const std::string& method, const google::protobuf::Message& request,
                          const std::string& authorization = "") {
    std::string bytes = request.SerializeAsString();
    const grpc::Slice slice(bytes);
    return Call<grpc::ByteBuffer>(method, grpc::ByteBuffer(&slice, 1), authorization)
        .status.error_code();
  }
  testing::ScratchDirectory directory_;
};

TEST_F(GrpcCallsTest, Keys) {
  serving::ServerOptions options;
  options.keys.api = *KeyList::Read(directory_.Write("api", "key-of-a-client\n"));
  options.keys.admin = *KeyList::Read(directory_.Write("admin", "key-of-an-administrator\n"));
  Start({{"twice", kTwice}}, options);
  const std::string api = "Bearer key-of-a-client", admin = "bearer key-of-an-administrator";
  EXPECT_EQ(CodeOf("ServerLive", inference::ServerLiveRequest()), grpc::OK);
  EXPECT_EQ(CodeOf("ServerReady", inference::ServerReadyRequest()), grpc::OK);
  EXPECT_EQ(CodeOf("/grpc.health.v1.Health/Check", inference::HealthCheckRequest()), grpc::OK);
  inference::ModelMetadataRequest metadata;
  metadata.set_name("twice");
  const inference::RepositoryIndexRequest index;
  EXPECT_EQ(CodeOf("ModelInfer", Quick()), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CodeOf("ModelInfer", Quick(), "Basic key-of-a-client"), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CodeOf("ModelInfer", Quick(), "Bearer wrong"), grpc::PERMISSION_DENIED);
  EXPECT_EQ(CodeOf("ModelInfer", Quick(), api), grpc::OK);
  EXPECT_EQ(CodeOf("ModelInfer", Quick(), admin), grpc::OK);
  EXPECT_EQ(CodeOf("ModelMetadata", metadata), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CodeOf("ModelMetadata", metadata, api), grpc::OK);
  EXPECT_EQ(CodeOf("RepositoryIndex", index), grpc::UNAUTHENTICATED);
  EXPECT_EQ(CodeOf("RepositoryIndex", index, api), grpc::PERMISSION_DENIED);
  EXPECT_EQ(CodeOf("RepositoryIndex", index, admin), grpc::OK);
  // Whoever may look at settings may not change them.
  inference::LogSettingsRequest log;
  EXPECT_EQ(CodeOf("LogSettings", log, api), grpc::OK);
  (*log.mutable_settings())["log_info"].set_bool_param(false);
  EXPECT_EQ(CodeOf("LogSettings", log, api), grpc::PERMISSION_DENIED);
  grpc::ClientContext twice;
  twice.AddMetadata("authorization", api);
  twice.AddMetadata("authorization", api);
  EXPECT_EQ(Call<inference::ModelInferResponse>("ModelInfer", Quick(), twice).status.error_code(),
            grpc::UNAUTHENTICATED);
  testing::GrpcStream stream(channel_);
  ASSERT_TRUE(stream.Open());
  EXPECT_EQ(stream.End().error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(GrpcCallsTest, WithoutAKeyOfTheServersNobodyAdministers) {
  Start({{"twice", kTwice}});
  EXPECT_EQ(CodeOf("RepositoryIndex", inference::RepositoryIndexRequest(), "Bearer any"),
            grpc::PERMISSION_DENIED);
}

TEST_F(GrpcCallsTest, LargeMessages) {
  Start({{"twice", kTwice}}, {}, {.message_bytes = 100'000});
  const std::vector<float> values(30'000);
  const auto status = Infer(RawRequest("twice", "x", {15'000, 2}, values)).status;
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(Infer(RawRequest("twice", "x", {10'000, 2}, std::vector<float>(20'000))).status.ok());
}

// What they are decompressed to would have no bound.
TEST_F(GrpcCallsTest, CompressedMessages) {
  Start({{"twice", kTwice}});
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto request = RawRequest("twice", "x", {10'000, 2}, std::vector<float>(20'000));
  EXPECT_EQ(Call<inference::ModelInferResponse>("ModelInfer", request, context).status.error_code(),
            grpc::UNIMPLEMENTED);
}

TEST_F(GrpcCallsTest, WhoDoesNotSpeakIt) {
  Start({{"twice", kTwice}});
  for (const std::string& bytes :
       {std::string("GET /v2 HTTP/1.1\r\nHost: a\r\n\r\n"), std::string(100'000, '\0'),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(1000, '\xff')}) {
    testing::Client client(server_->grpc_port());
    client.Send(bytes);
    client.ReadRest();
  }
  testing::Client silent(server_->grpc_port());
  EXPECT_TRUE(Infer(Quick()).status.ok());
}

// A run ends once nobody waits for its reply: else the one core would never be free again.
TEST_F(GrpcCallsTest, AClientThatLeavesFreesItsPlace) {
  Start({{"twice", kTwice}, {"slow", kSlow}});
  for (int round = 0; round < 10; ++round) {
    grpc::ClientContext runs, waits;
    waits.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    std::thread leaver([&] {
      EXPECT_EQ(Call<inference::ModelInferResponse>("ModelInfer", Slow(kForever), runs)
                    .status.error_code(),
                grpc::CANCELLED);
    });
    EXPECT_EQ(Call<inference::ModelInferResponse>("ModelInfer", Slow(kForever), waits)
                  .status.error_code(),
              grpc::DEADLINE_EXCEEDED);
    runs.TryCancel();
    leaver.join();
    EXPECT_TRUE(Infer(Quick()).status.ok());
  }
}

TEST_F(GrpcCallsTest, ATimeoutBoundsTheRun) {
  Start({{"slow", kSlow}});
  auto request = Slow(kForever);
  (*request.mutable_parameters())["timeout"].set_int64_param(20'000);
  EXPECT_EQ(Infer(request).status.error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(GrpcCallsTest, WhoComesWhenTooManyWaitIsRefused) {
  serving::ServerOptions options;
  options.scheduling.most_waiting = 1;
  Start({{"slow", kSlow}}, options);
  std::atomic<int> answered = 0, refused = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 6; ++k) {
    clients.emplace_back([&] {
      const grpc::Status status = Infer(Slow(200'000)).status;
      answered += status.ok();
      refused += status.error_code() == grpc::UNAVAILABLE;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GE(answered, 1);
  EXPECT_GE(refused, 1);
  EXPECT_EQ(answered + refused, 6);
}

TEST_F(GrpcCallsTest, AServerThatStopsAnswersWhatIsUnderWay) {
  Start({{"twice", kTwice}, {"slow", kSlow}});
  testing::GrpcStream idle(channel_);
  ASSERT_TRUE(idle.Open());
  ASSERT_TRUE(idle.Send(Quick()));
  inference::ModelStreamInferResponse reply;
  ASSERT_TRUE(idle.Read(reply));
  std::atomic<bool> began = false;
  std::thread client([&] {
    began = true;
    EXPECT_TRUE(Infer(Slow(300'000)).status.ok());
  });
  while (!began) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(server_->Stop(std::chrono::seconds(60)));
  client.join();
  EXPECT_FALSE(idle.Read(reply));
  EXPECT_EQ(idle.End().error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(Infer(Quick()).status.error_code(), grpc::UNAVAILABLE);
}

TEST_F(GrpcCallsTest, AServerThatStopsDoesNotWaitForEver) {
  Start({{"slow", kSlow}});
  testing::GrpcStream stream(channel_);
  ASSERT_TRUE(stream.Open());
  ASSERT_TRUE(stream.Send(Slow(kForever)));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(server_->Stop(std::chrono::seconds(1)));
  inference::ModelStreamInferResponse reply;
  while (stream.Read(reply)) continue;
  EXPECT_FALSE(stream.End().ok());
  server_ = nullptr;
}

TEST_F(GrpcCallsTest, APortThatIsTaken) {
  Start({{"twice", kTwice}});
  serving::ServerOptions options;
  options.address.port = 0;
  const auto at = [&](serving::HttpAddress address) {
    options.open_grpc = serving::GrpcAt({std::move(address)});
    return std::string(serving::Server::Start({}, options).status().message());
  };
  EXPECT_THAT(at({.port = server_->grpc_port()}),
              HasSubstr("the port is taken by another process"));
  EXPECT_THAT(at({.host = "example.org"}), HasSubstr("'example.org' is not an address"));
  EXPECT_THAT(at({.unix_path = directory_.path("socket")}), HasSubstr("not on Unix sockets"));
  EXPECT_THAT(at({.certificate_file = "c"}), HasSubstr("are given together"));
}

TEST_F(GrpcCallsTest, Tls) {
  serving::GrpcOptions options;
  options.address.key_file = directory_.path("key");
  options.address.certificate_file = directory_.path("certificate");
  ASSERT_EQ(std::system(absl::StrCat("openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj ",
                                     "/CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ",
                                     options.address.key_file, " -out ",
                                     options.address.certificate_file, " 2>/dev/null")
                            .c_str()),
            0);
  Start({{"twice", kTwice}}, {}, options);
  EXPECT_EQ(Infer(Quick()).status.error_code(), grpc::UNAVAILABLE);  // not encrypted
  std::ifstream file(options.address.certificate_file);
  grpc::SslCredentialsOptions trusted;
  trusted.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  Connect(grpc::SslCredentials(trusted));
  EXPECT_TRUE(Infer(Quick()).status.ok());
}

TEST_F(GrpcCallsTest, CallsAreInTheAccessLog) {
  std::mutex mutex;
  std::string lines;
  serving::ServerOptions options;
  options.access_log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    absl::StrAppend(&lines, line, "\n");
  };
  Start({{"twice", kTwice}}, options);
  const auto request = Quick();
  ASSERT_TRUE(Infer(request).status.ok());
  const std::lock_guard lock(mutex);
  EXPECT_THAT(lines, HasSubstr("\"client\":\"127.0.0.1\""));
  EXPECT_THAT(lines, HasSubstr("\"path\":\"/v2/models/twice/infer\",\"model\":\"twice\""));
  EXPECT_THAT(lines, HasSubstr(absl::StrCat("\"bytes_in\":", request.ByteSizeLong())));
}

TEST_F(GrpcCallsTest, StreamsContinueAfterErrors) {
  Start({{"twice", kTwice}});
  testing::GrpcStream stream(channel_);
  ASSERT_TRUE(stream.Open());
  auto wrong = Quick();
  wrong.set_id("wrong");
  wrong.mutable_inputs(0)->set_datatype("FP64");
  inference::ModelStreamInferResponse reply;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(stream.Send(i == 7 ? wrong : Quick()));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(stream.Read(reply)) << i;
    EXPECT_EQ(reply.error_message().empty(), i != 7);
    EXPECT_EQ(reply.infer_response().id(), i == 7 ? "wrong" : "");
    EXPECT_EQ(reply.infer_response().raw_output_contents_size(), i == 7 ? 0 : 1);
  }
  ASSERT_TRUE(stream.SendNoMore());
  EXPECT_FALSE(stream.Read(reply));
  EXPECT_TRUE(stream.End().ok());
  testing::GrpcStream strict(channel_);
  strict.context().AddMetadata("triton_grpc_error", "true");
  ASSERT_TRUE(strict.Open());
  ASSERT_TRUE(strict.Send(wrong));
  EXPECT_FALSE(strict.Read(reply));
  EXPECT_EQ(strict.End().error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(GrpcCallsTest, AStreamThatIsLeftFreesItsPlaces) {
  Start({{"twice", kTwice}, {"slow", kSlow}});
  for (int round = 0; round < 5; ++round) {
    testing::GrpcStream stream(channel_);
    ASSERT_TRUE(stream.Open());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream.Send(Slow(kForever)));
    stream.context().TryCancel();
    EXPECT_TRUE(Infer(Quick()).status.ok());
  }
}

}  // namespace
}  // namespace onward
