// Messages of gRPC as requests and replies; needs no gRPC.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/infer_reply_message.h"
#include "serving/grpc/messages/infer_request_message.h"
#include "serving/grpc/messages/unary_methods.h"

namespace onward::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Joined(const std::vector<BodyPart>& parts) {
  std::string bytes;
  for (const BodyPart& part : parts) bytes += part.bytes;
  return bytes;
}

inference::ModelInferRequest Typed(const std::string& datatype, const std::vector<int64_t>& shape) {
  inference::ModelInferRequest request;
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype(datatype);
  for (const int64_t dim : shape) input.add_shape(dim);
  input.mutable_contents();
  return request;
}

// Reads a request with these contents and writes its only tensor as a reply.
std::string Again(const std::string& datatype, const std::vector<int64_t>& shape,
                  const std::function<void(inference::InferTensorContents&)>& fill) {
  inference::ModelInferRequest asked = Typed(datatype, shape);
  inference::InferTensorContents& contents = *asked.mutable_inputs(0)->mutable_contents();
  fill(contents);
  const auto request = ReadInferMessage(asked);
  if (!request.ok()) return std::string(request.status().message());
  const Tensor& tensor = request->inputs.at("x").tensor();
  const auto written =
      WriteInferMessage({"m", "1", request->id, {{"x", tensor, request->binary_output}}});
  EXPECT_TRUE(written.ok()) << written.status();
  inference::ModelInferResponse reply;
  EXPECT_TRUE(reply.ParseFromString(Joined(*written)));
  EXPECT_EQ(reply.raw_output_contents_size(), 0);
  EXPECT_EQ(reply.outputs(0).datatype(), datatype);
  return reply.outputs(0).contents().SerializeAsString() == contents.SerializeAsString()
             ? "same"
             : reply.outputs(0).contents().DebugString();
}

TEST(GrpcMessages, TypedContentsOfEachDatatype) {
  using Contents = inference::InferTensorContents;
  const auto ints = [](std::vector<int32_t> values) {
    return [values = std::move(values)](Contents& contents) {
      for (const int32_t value : values) contents.add_int_contents(value);
    };
  };
  const auto uints = [](std::vector<uint32_t> values) {
    return [values = std::move(values)](Contents& contents) {
      for (const uint32_t value : values) contents.add_uint_contents(value);
    };
  };
  EXPECT_EQ(Again("INT8", {2}, ints({-128, 127})), "same");
  EXPECT_EQ(Again("INT16", {2}, ints({-32768, 32767})), "same");
  EXPECT_EQ(Again("INT32", {1, 2}, ints({INT32_MIN, INT32_MAX})), "same");
  EXPECT_EQ(Again("UINT8", {2}, uints({0, 255})), "same");
  EXPECT_EQ(Again("UINT16", {2}, uints({0, 65535})), "same");
  EXPECT_EQ(Again("UINT32", {2}, uints({0, UINT32_MAX})), "same");
  EXPECT_EQ(Again("INT64", {}, [](Contents& c) { c.add_int64_contents(INT64_MIN); }), "same");
  EXPECT_EQ(Again("UINT64", {1}, [](Contents& c) { c.add_uint64_contents(UINT64_MAX); }), "same");
  EXPECT_EQ(Again("BOOL", {2},
                  [](Contents& c) { c.add_bool_contents(true), c.add_bool_contents(false); }),
            "same");
  EXPECT_EQ(Again("FP32", {1}, [](Contents& c) { c.add_fp32_contents(NAN); }), "same");
  EXPECT_EQ(Again("FP64", {1}, [](Contents& c) { c.add_fp64_contents(5e-324); }), "same");
  EXPECT_EQ(Again("BYTES", {1}, [](Contents& c) { c.add_bytes_contents("\xff"); }), "same");
  EXPECT_EQ(Again("FP32", {0, 7}, [](Contents&) {}), "same");
  EXPECT_THAT(Again("INT8", {1}, ints({128})),
              HasSubstr("inputs[0].contents: input 'x': element 0 is 128, which INT8 cannot hold"));
  EXPECT_THAT(Again("INT16", {2}, ints({0, -32769})), HasSubstr("element 1 is -32769"));
  EXPECT_THAT(Again("UINT8", {1}, uints({256})), HasSubstr("element 0 is 256"));
  EXPECT_THAT(Again("UINT16", {1}, uints({65536})), HasSubstr("element 0 is 65536"));
  EXPECT_THAT(Again("INT32", {1}, uints({1})), HasSubstr("in another field than that of INT32"));
  EXPECT_THAT(Again("INT32", {2}, ints({1, 2, 3})),
              HasSubstr("expected 2 elements for INT32 [2], got 3"));
  EXPECT_THAT(Again("FP16", {1}, [](Contents& c) { c.add_fp32_contents(1); }),
              HasSubstr("FP16 has no field of its own: send raw_input_contents"));
  EXPECT_THAT(Again("INT32", {1LL << 40, 1LL << 40}, ints({1})),
              HasSubstr("asks for more elements"));
}

TEST(GrpcMessages, Parameters) {
  inference::ModelInferRequest asked;
  asked.set_id("seven");
  auto& parameters = *asked.mutable_parameters();
  parameters["priority"].set_uint64_param(3);
  parameters["timeout"].set_int64_param(1500);
  parameters["sequence_id"].set_string_param("talk \"1\"");
  parameters["sequence_start"].set_bool_param(true);
  parameters["anything"].set_double_param(0.5);
  auto& output = *asked.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(2);
  const auto request = ReadInferMessage(asked);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "seven");
  EXPECT_EQ(request->priority, 3u);
  EXPECT_EQ(request->timeout, std::chrono::microseconds(1500));
  EXPECT_EQ(std::get<std::string>(request->sequence.id), "talk \"1\"");
  EXPECT_TRUE(request->sequence.start);
  EXPECT_FALSE(request->sequence.end);
  ASSERT_EQ(request->outputs.size(), 1u);
  EXPECT_EQ(request->outputs[0].classes, 2u);
  const auto wrong = [&](const std::string& name, auto set) {
    inference::ModelInferRequest message;
    set((*message.mutable_parameters())[name]);
    return std::string(ReadInferMessage(message).status().message());
  };
  EXPECT_THAT(wrong("priority", [](auto& p) { p.set_int64_param(-1); }),
              HasSubstr("parameters.priority: is not a whole number"));
  EXPECT_THAT(wrong("timeout", [](auto& p) { p.set_string_param("1"); }),
              HasSubstr("parameters.timeout: is a string"));
  EXPECT_THAT(wrong("priority", [](auto&) {}), HasSubstr("parameters.priority: is null"));
  EXPECT_THAT(wrong("triton_x", [](auto& p) { p.set_bool_param(true); }), HasSubstr("triton_"));
  EXPECT_THAT(wrong("sequence_end", [](auto& p) { p.set_bool_param(true); }),
              HasSubstr("parameters.sequence_id: is missing"));
}

TEST(GrpcMessages, HeadsOfRequests) {
  const auto head = [](const std::string& bytes) {
    google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()), 3);
    return ReadInferHead(in);
  };
  inference::ModelInferRequest asked = Typed("FP32", {2});
  asked.set_model_name("digits");
  asked.set_model_version("2");
  asked.set_id("seven");
  asked.add_raw_input_contents(std::string(1000, 'x'));
  const auto read = head(asked.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->model, "digits");
  EXPECT_EQ(read->version, "2");
  EXPECT_EQ(read->id, "seven");
  EXPECT_TRUE(head("").ok());
  const std::string whole = asked.SerializeAsString();
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    inference::ModelInferRequest parsed;
    EXPECT_EQ(head(whole.substr(0, cut)).ok(), parsed.ParseFromString(whole.substr(0, cut))) << cut;
  }
  // The length of a field of 2^32 - 1 bytes.
  EXPECT_FALSE(head("\x0a\xff\xff\xff\xff\x0f").ok());
  EXPECT_FALSE(head("\x3a\xff\xff\xff\xff\x0f").ok());
  EXPECT_FALSE(head("\x2a\xff\xff\xff\xff\x0f").ok());
  // An empty text takes 2 bytes here and far more in memory.
  auto texts = Typed("BYTES", {1'000'001});
  for (int i = 0; i < 1'000'001; ++i)
    texts.mutable_inputs(0)->mutable_contents()->add_bytes_contents("");
  EXPECT_THAT(std::string(head(texts.SerializeAsString()).status().message()),
              HasSubstr("more than 1000000 parts: send raw_input_contents"));
}

TEST(GrpcMessages, RepliesGoRawWhereADatatypeHasNoField) {
  const Tensor half(DType::kFloat16, Dims{0}), whole = Tensor::Of<float>({1}, {2});
  const auto written = WriteInferMessage({"m", "1", std::nullopt, {{"h", half}, {"w", whole}}});
  inference::ModelInferResponse reply;
  ASSERT_TRUE(written.ok() && reply.ParseFromString(Joined(*written)));
  EXPECT_EQ(reply.raw_output_contents_size(), 2);
  EXPECT_FALSE(reply.outputs(1).has_contents());
  EXPECT_EQ(reply.raw_output_contents(1).size(), 4u);
  inference::ModelStreamInferResponse streamed;
  ASSERT_TRUE(streamed.ParseFromString(Joined(AsStreamed(*written, true))));
  EXPECT_TRUE(streamed.infer_response().parameters().at("triton_final_response").bool_param());
  streamed.mutable_infer_response()->clear_parameters();
  EXPECT_EQ(streamed.infer_response().SerializeAsString(), reply.SerializeAsString());
}

TEST(GrpcMessages, TextsOfReplies) {
  const Tensor texts = Tensor::Of<std::string>({2}, {"a", std::string(20000, 'b')});
  const auto written = WriteInferMessage({"m", "1", "7", {{"t", texts, true}}});
  inference::ModelInferResponse reply;
  ASSERT_TRUE(written.ok() && reply.ParseFromString(Joined(*written)));
  EXPECT_EQ(reply.id(), "7");
  EXPECT_EQ(reply.raw_output_contents(0),
            std::string("\1\0\0\0a\x20\x4e\0\0", 9) + std::string(20000, 'b'));
}

TEST(GrpcMessages, Statuses) {
  const auto code = [](int status) {
    return StatusOf({.status = status, .body = R"({"error":"why"})"});
  };
  EXPECT_TRUE(code(200).ok());
  EXPECT_EQ(code(400), absl::InvalidArgumentError("why"));
  EXPECT_EQ(code(401), absl::UnauthenticatedError("why"));
  EXPECT_EQ(code(403), absl::PermissionDeniedError("why"));
  EXPECT_EQ(code(404), absl::NotFoundError("why"));
  EXPECT_EQ(code(499), absl::CancelledError("why"));
  EXPECT_EQ(code(501), absl::UnimplementedError("why"));
  EXPECT_EQ(code(503), absl::UnavailableError("why"));
  EXPECT_EQ(code(504), absl::DeadlineExceededError("why"));
  EXPECT_EQ(code(500), absl::InternalError("why"));
}

TEST(GrpcMessages, Methods) {
  EXPECT_EQ(UnaryMethodAt("/inference.GRPCInferenceService/Nothing"), nullptr);
  const UnaryMethod* const trace = UnaryMethodAt("/inference.GRPCInferenceService/TraceSetting");
  ASSERT_NE(trace, nullptr);
  inference::TraceSettingRequest asked;
  EXPECT_EQ(trace->request(asked.SerializeAsString())->method, "GET");
  (*asked.mutable_settings())["trace_level"].add_value("OFF");
  (*asked.mutable_settings())["trace_rate"].add_value("7");
  (*asked.mutable_settings())["trace_count"];
  const auto request = trace->request(asked.SerializeAsString());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(
      nlohmann::json::parse(request->body),
      nlohmann::json::parse(R"({"trace_level":["OFF"],"trace_rate":"7","trace_count":null})"));
  asked.set_model_name("m");
  EXPECT_TRUE(absl::IsUnimplemented(trace->request(asked.SerializeAsString()).status()));

  const UnaryMethod* const load =
      UnaryMethodAt("/inference.GRPCInferenceService/RepositoryModelLoad");
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->route_class, RouteClass::kAdmin);
  inference::RepositoryModelLoadRequest model;
  model.set_model_name("m");
  (*model.mutable_parameters())["file:1/model.onnx"].set_bytes_param("abc");
  const auto post = load->request(model.SerializeAsString());
  ASSERT_TRUE(post.ok()) << post.status();
  EXPECT_THAT(post->segments, ElementsAre("v2", "repository", "models", "m", "load"));
  EXPECT_EQ(post->body, R"({"parameters":{"file:1/model.onnx":"YWJj"}})");
  (*model.mutable_parameters())["file:1/model.onnx"].set_string_param("abc");
  EXPECT_THAT(std::string(load->request(model.SerializeAsString()).status().message()),
              HasSubstr("expected the file as bytes_param"));

  const UnaryMethod* const health = UnaryMethodAt("/grpc.health.v1.Health/Check");
  ASSERT_NE(health, nullptr);
  inference::HealthCheckRequest service;
  service.set_service("another");
  EXPECT_TRUE(absl::IsNotFound(health->request(service.SerializeAsString()).status()));
  inference::HealthCheckResponse serving;
  ASSERT_TRUE(serving.ParseFromString(*health->reply({.status = 503, .body = "{}"})));
  EXPECT_EQ(serving.status(), inference::HealthCheckResponse::NOT_SERVING);
}

}  // namespace
}  // namespace onward::serving
