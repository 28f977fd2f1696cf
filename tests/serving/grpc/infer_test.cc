// Inferences over gRPC: raw and typed tensors, many at a time, and what wrong requests get.
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/serving/grpc/grpc_client.h"

namespace onward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwice[] = "g (float[n, 2] x) => (float[n, 2] y) { y = Add (x, x) }";

class GrpcInferTest : public testing::GrpcTest {
 protected:
  void ExpectError(const inference::ModelInferRequest& request, grpc::StatusCode code,
                   const std::string& text) {
    const grpc::Status status = Infer(request).status;
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  }
};

TEST_F(GrpcInferTest, RawTensors) {
  Start({{"twice", kTwice}});
  const auto live =
      Call<inference::ServerLiveResponse>("ServerLive", inference::ServerLiveRequest());
  ASSERT_TRUE(live.status.ok()) << live.status.error_message();
  EXPECT_TRUE(live.reply.live());
  inference::ModelInferRequest request = RawRequest("twice", "x", {2, 2}, {1, 2, 3, 4.5});
  request.set_id("seven");
  const auto [status, reply] = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.model_name(), "twice");
  EXPECT_EQ(reply.model_version(), "1");
  EXPECT_EQ(reply.id(), "seven");
  ASSERT_EQ(reply.outputs_size(), 1);
  EXPECT_EQ(reply.outputs(0).name(), "y");
  EXPECT_EQ(reply.outputs(0).datatype(), "FP32");
  EXPECT_THAT(reply.outputs(0).shape(), ElementsAre(2, 2));
  ASSERT_EQ(reply.raw_output_contents_size(), 1);
  EXPECT_THAT(FloatsOf(reply.raw_output_contents(0)), ElementsAre(2, 4, 6, 9));
}

TEST_F(GrpcInferTest, TypedTensorsAreRepliedToAsTyped) {
  Start({{"twice", kTwice}});
  inference::ModelInferRequest request = RawRequest("twice", "x", {1, 2}, {});
  request.clear_raw_input_contents();
  for (const float value : {1.5F, -2.F})
    request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(value);
  const auto [status, reply] = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.raw_output_contents_size(), 0);
  EXPECT_THAT(reply.outputs(0).contents().fp32_contents(), ElementsAre(3, -4));
}

// A tensor that is not copied into the reply is whole, and outlives the run.
TEST_F(GrpcInferTest, LargeTensors) {
  Start({{"twice", kTwice}});
  std::vector<float> values(2'000'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto [status, reply] = Infer(RawRequest("twice", "x", {1'000'000, 2}, values));
  ASSERT_TRUE(status.ok()) << status.error_message();
  for (float& value : values) value *= 2;
  EXPECT_TRUE(FloatsOf(reply.raw_output_contents(0)) == values);
}

TEST_F(GrpcInferTest, TheSameAsOverHttp) {
  Start({{"twice", kTwice}});
  const auto reply = Infer(RawRequest("twice", "x", {1, 2}, {0.1F, 1e-40F})).reply;
  testing::Client client(server_->port());
  const auto http = nlohmann::json::parse(
      client
          .Ask("POST", "/v2/models/twice/infer",
               R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[0.1,1e-40]}]})")
          .body);
  ASSERT_EQ(reply.raw_output_contents_size(), 1);
  EXPECT_EQ(FloatsOf(reply.raw_output_contents(0)),
            http["outputs"][0]["data"].get<std::vector<float>>());
  EXPECT_EQ(reply.outputs(0).datatype(), http["outputs"][0]["datatype"]);
}

TEST_F(GrpcInferTest, ClientsAtOnce) {
  serving::ServerOptions options;
  options.scheduling.cores = 2;
  Start({{"twice", kTwice}}, options);
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 8; ++k) {
    clients.emplace_back([&, k] {
      for (int i = 0; i < 50; ++i) {
        const float a = static_cast<float>(k), b = static_cast<float>(i);
        const auto reply = Infer(RawRequest("twice", "x", {1, 2}, {a, b})).reply;
        right += reply.raw_output_contents_size() == 1 &&
                 FloatsOf(reply.raw_output_contents(0)) == std::vector<float>({2 * a, 2 * b});
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 8 * 50);
}

TEST_F(GrpcInferTest, WrongRequests) {
  Start({{"twice", kTwice}});
  constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
  const auto right = RawRequest("twice", "x", {1, 2}, {1, 2});
  auto wrong = right;
  wrong.set_model_name("twcie");
  ExpectError(wrong, grpc::StatusCode::NOT_FOUND, "did you mean 'twice'");
  wrong = right;
  wrong.mutable_inputs(0)->set_shape(0, int64_t{1} << 40);
  ExpectError(wrong, kInvalid, "inputs[0].shape: asks for more elements");
  wrong.mutable_inputs(0)->set_shape(1, int64_t{1} << 40);
  ExpectError(wrong, kInvalid, "inputs[0].shape: asks for more elements");
  wrong.mutable_inputs(0)->set_shape(0, -1);
  ExpectError(wrong, kInvalid, "inputs[0].shape: dim 0 is not a whole number");
  wrong = right;
  wrong.set_raw_input_contents(0, "123");
  ExpectError(wrong, kInvalid, "expected 8 bytes for FP32 [1,2], got 3");
  wrong = right;
  wrong.add_raw_input_contents("12345678");
  ExpectError(wrong, kInvalid, "raw_input_contents: has 2 entries, expected 1");
  wrong = right;
  wrong.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectError(wrong, kInvalid, "inputs[0].contents: is there, and raw_input_contents too");
  wrong = right;
  (*wrong.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
  ExpectError(wrong, kInvalid, "shared memory is off");
  wrong = right;
  wrong.mutable_inputs(0)->set_datatype("FP31");
  ExpectError(wrong, kInvalid, "'FP31' is not one of");
  ExpectError(inference::ModelInferRequest(), grpc::StatusCode::NOT_FOUND, "");
  EXPECT_TRUE(Infer(right).status.ok());
}

// Bytes that are not messages of the method.
TEST_F(GrpcInferTest, WrongBytes) {
  Start({{"twice", kTwice}});
  const auto send = [&](const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return Call<grpc::ByteBuffer>(method, grpc::ByteBuffer(&slice, 1)).status;
  };
  EXPECT_EQ(send("ModelInfer", "\x07").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(send("ModelInfer", "\x0a\x05t").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::string named("\x0a\x05twice", 7);
  EXPECT_THAT(send("ModelInfer", named + "\x2a\x02\xff\xff").error_message(),
              HasSubstr("is not a ModelInferRequest"));
  std::string many = named;
  for (int i = 0; i < 30000; ++i) many += std::string("\x2a\x00", 2);
  EXPECT_THAT(send("ModelInfer", many).error_message(), HasSubstr("more than 20000 fields"));
  EXPECT_THAT(send("ModelMetadata", "\xff").error_message(),
              HasSubstr("is not a ModelMetadataRequest"));
  EXPECT_THAT(send("LogSettings", std::string(100'000, '\x0a')).error_message(),
              HasSubstr("expected at most 65536"));
  EXPECT_EQ(send("NoSuchMethod", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(send("SystemSharedMemoryStatus", "").error_message(),
              HasSubstr("shared memory is off"));
}

}  // namespace
}  // namespace onward
