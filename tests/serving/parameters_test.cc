// The objects `parameters`, as sections 9 and 15 of the protocol's document have them.
#include <variant>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/protocol/read_infer_request.h"

namespace onward::serving {
namespace {

using ::testing::HasSubstr;

std::string With(const std::string& parameters) {
  return absl::StrCat(R"({"inputs":[],"parameters":)", parameters, "}");
}

InferRequest Read(const std::string& parameters) {
  const auto request = ReadInferRequest(With(parameters));
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? *request : InferRequest();
}

std::string Refusal(const std::string& body) {
  const auto request = ReadInferRequest(body);
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << body;
  return std::string(request.status().message());
}

TEST(Parameters, OfARequest) {
  const InferRequest none = Read(R"({"custom":[1],"other":null})");
  EXPECT_EQ(none.priority, 0U);
  EXPECT_EQ(none.timeout, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(none.sequence.id));
  const InferRequest all = Read(
      R"({"priority":18446744073709551615,"timeout":1500,"sequence_id":7,"sequence_start":true,)"
      R"("sequence_end":false,"headers":"x"})");
  EXPECT_EQ(all.priority, 18446744073709551615U);
  EXPECT_EQ(all.timeout, std::chrono::microseconds(1500));
  EXPECT_EQ(std::get<uint64_t>(all.sequence.id), 7U);
  EXPECT_TRUE(all.sequence.start);
  EXPECT_FALSE(all.sequence.end);
  EXPECT_EQ(std::get<std::string>(Read(R"({"sequence_id":"a","sequence_end":true})").sequence.id),
            "a");
  // What clients send that mean none.
  const InferRequest zeros = Read(
      R"({"sequence_id":0,"sequence_start":false,"sequence_end":false,"timeout":0,"priority":0})");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(zeros.sequence.id));
  EXPECT_EQ(zeros.timeout, std::nullopt);
}

TEST(Parameters, WhatIsRefused) {
  EXPECT_THAT(Refusal(With("[]")), HasSubstr("parameters: is an array, expected an object"));
  EXPECT_THAT(Refusal(With(R"({"priority":"high"})")),
              HasSubstr("parameters.priority: is a string, expected a whole number"));
  EXPECT_THAT(Refusal(With(R"({"priority":-1})")), HasSubstr("not a whole number of at least 0"));
  EXPECT_THAT(Refusal(With(R"({"timeout":1.5})")), HasSubstr("not a whole number of at least 0"));
  EXPECT_THAT(Refusal(With(R"({"timeout":18446744073709551615})")),
              HasSubstr("parameters.timeout: is more"));
  EXPECT_THAT(Refusal(With(R"({"sequence_id":true})")),
              HasSubstr("is true or false, expected a whole number or a string"));
  EXPECT_THAT(Refusal(With(R"({"sequence_id":-3})")), HasSubstr("sequence_id: is not a whole"));
  EXPECT_THAT(Refusal(With(R"({"sequence_start":1})")),
              HasSubstr("parameters.sequence_start: is a number, expected true or false"));
  EXPECT_THAT(Refusal(With(R"({"sequence_start":true})")),
              HasSubstr("parameters.sequence_id: is missing"));
  EXPECT_THAT(Refusal(With(R"({"binary_data_output":1})")),
              HasSubstr("parameters.binary_data_output: is a number"));
  EXPECT_THAT(Refusal(With(R"({"triton_x":1})")), HasSubstr("the server's own"));
}

TEST(Parameters, OfTensors) {
  const auto input = [](const std::string& parameters) {
    return absl::StrCat(
        R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":)",
        parameters, "}]}");
  };
  const auto output = [](const std::string& parameters) {
    return absl::StrCat(R"({"inputs":[],"outputs":[{"name":"y","parameters":)", parameters, "}]}");
  };
  EXPECT_TRUE(ReadInferRequest(input(R"({"mine":{}})")).ok());
  EXPECT_THAT(Refusal(input("3")), HasSubstr("inputs[0].parameters: is a number"));
  EXPECT_THAT(Refusal(input(R"({"triton_x":1})")), HasSubstr("inputs[0].parameters.triton_x"));
  for (const char* name :
       {"shared_memory_region", "shared_memory_byte_size", "shared_memory_offset"}) {
    const std::string parameters = absl::StrCat("{\"", name, "\":1}");
    EXPECT_THAT(Refusal(input(parameters)), HasSubstr("shared memory is off")) << name;
    EXPECT_THAT(Refusal(output(parameters)), HasSubstr("shared memory is off")) << name;
  }
  EXPECT_EQ(ReadInferRequest(output(R"({"classification":3})"))->outputs[0].classes, 3U);
  EXPECT_EQ(ReadInferRequest(output("{}"))->outputs[0].classes, 0U);
  EXPECT_THAT(Refusal(output(R"({"classification":-1})")),
              HasSubstr("outputs[0].parameters.classification: is not a whole number"));
  EXPECT_THAT(Refusal(output(R"({"binary_data":"yes"})")),
              HasSubstr("outputs[0].parameters.binary_data: is a string"));
}

}  // namespace
}  // namespace onward::serving
