// Tensors in JSON, and what is said of requests that are not right.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/read_infer_request.h"

namespace onward::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Input(const std::string& datatype, const std::string& shape, const std::string& data) {
  return absl::StrCat(R"({"inputs":[{"name":"x","datatype":")", datatype, R"(","shape":)", shape,
                      R"(,"data":)", data, "}]}");
}

Tensor Read(const std::string& datatype, const std::string& shape, const std::string& data) {
  const auto request = ReadInferRequest(Input(datatype, shape, data));
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? request->inputs.at("x").tensor() : Tensor();
}

std::string Refusal(const std::string& body) {
  const auto request = ReadInferRequest(body);
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << body;
  return std::string(request.status().message());
}

TEST(InferRequest, NestedAndFlatAreAlike) {
  for (const char* data : {"[1,2,3,4]", "[[1,2],[3,4]]", "[[[1],2],3,[[4]]]"}) {
    const Tensor tensor = Read("INT32", "[2,2]", data);
    EXPECT_THAT(tensor.dims(), ElementsAre(2, 2));
    EXPECT_THAT(tensor.span<int32_t>(), ElementsAre(1, 2, 3, 4)) << data;
  }
  EXPECT_EQ(Read("FP32", "[]", "[2.5]").rank(), 0);
  EXPECT_THAT(Read("INT64", "[3,0]", "[]").dims(), ElementsAre(3, 0));
}

TEST(InferRequest, EveryDatatypeAtItsLimits) {
  EXPECT_THAT(Read("BOOL", "[4]", "[true,false,1,0]").span<bool>(),
              ElementsAre(true, false, true, false));
  EXPECT_THAT(Read("UINT8", "[2]", "[0,255]").span<uint8_t>(), ElementsAre(0, 255));
  EXPECT_THAT(Read("INT8", "[2]", "[-128,127]").span<int8_t>(), ElementsAre(-128, 127));
  EXPECT_THAT(
      Read("INT64", "[2]", "[-9223372036854775808,9223372036854775807]").span<int64_t>(),
      ElementsAre(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(Read("UINT64", "[1]", "[18446744073709551615]").span<uint64_t>(),
              ElementsAre(std::numeric_limits<uint64_t>::max()));
  EXPECT_THAT(Read("INT16", "[1]", "[2.0]").span<int16_t>(), ElementsAre(2));
  EXPECT_THAT(Read("FP64", "[2]", "[0.1,-0.0]").span<double>(), ElementsAre(0.1, -0.0));
  EXPECT_TRUE(std::signbit(Read("FP64", "[1]", "[-0.0]").span<double>()[0]));
  EXPECT_EQ(static_cast<float>(Read("FP16", "[1]", "[0.5]").span<Float16>()[0]), 0.5f);
  EXPECT_EQ(static_cast<float>(Read("BF16", "[1]", "[-3]").span<BFloat16>()[0]), -3.0f);
  EXPECT_THAT(Read("BYTES", "[2]", R"(["a\"\u00e9",""])").span<std::string>(),
              ElementsAre("a\"\xc3\xa9", ""));
}

TEST(InferRequest, WhatIsNotFinite) {
  const Tensor tensor = Read("FP32", "[4]", R"([NaN,Infinity,-Infinity,1])");
  EXPECT_TRUE(std::isnan(tensor.span<float>()[0]));
  EXPECT_EQ(tensor.span<float>()[1], HUGE_VALF);
  EXPECT_EQ(tensor.span<float>()[2], -HUGE_VALF);
  EXPECT_THAT(Read("BYTES", "[2]", R"(["NaN\\","-Infinity"])").span<std::string>(),
              ElementsAre("NaN\\", "-Infinity"));
}

TEST(InferRequest, ErrorsNameTheMember) {
  EXPECT_THAT(Refusal(""), HasSubstr("the body: is not JSON"));
  EXPECT_THAT(Refusal("[1,2}"), HasSubstr("the body: is not JSON"));
  EXPECT_THAT(Refusal("[1]"), HasSubstr("is an array, expected an object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("inputs: is missing"));
  EXPECT_THAT(Refusal(R"({"inputs":{}})"), HasSubstr("inputs: is an object, expected an array"));
  EXPECT_THAT(Refusal(R"({"inputs":[3]})"), HasSubstr("inputs[0]: is a number"));
  EXPECT_THAT(Refusal(R"({"inputs":[{"shape":[]}]})"), HasSubstr("inputs[0].name: is missing"));
  EXPECT_THAT(Refusal(Input("FP31", "[1]", "[1]")), HasSubstr("'FP31' is not one of BOOL"));
  EXPECT_THAT(Refusal(Input("FP32", "[-1]", "[1]")), HasSubstr("inputs[0].shape: dim 0"));
  EXPECT_THAT(Refusal(Input("FP32", "[2]", "[1]")),
              HasSubstr("there are 1 elements, the shape [2] asks for 2"));
  EXPECT_THAT(Refusal(Input("FP32", "[1]", "[1,2]")),
              HasSubstr("more elements than the shape's 1"));
  EXPECT_THAT(Refusal(Input("FP32", "[1]", "3")), HasSubstr("expected an array"));
  EXPECT_THAT(Refusal(Input("FP32", "[1]", R"(["a"])")),
              HasSubstr("element 0 is a string, expected a number"));
  EXPECT_THAT(Refusal(Input("INT8", "[2]", "[0,128]")),
              HasSubstr("element 1 is 128, which the datatype cannot hold"));
  EXPECT_THAT(Refusal(Input("INT32", "[1]", "[0.5]")), HasSubstr("expected a whole number"));
  EXPECT_THAT(Refusal(Input("UINT8", "[1]", "[-1]")), HasSubstr("cannot hold"));
  EXPECT_THAT(Refusal(Input("BOOL", "[1]", "[2]")), HasSubstr("expected true or false"));
  const std::string twice = R"({"name":"x","datatype":"FP32","shape":[0],"data":[]})";
  EXPECT_THAT(Refusal(absl::StrCat(R"({"inputs":[)", twice, ",", twice, "]}")),
              HasSubstr("'x' is given twice"));
  EXPECT_THAT(Refusal(R"({"inputs":[],"outputs":[{"name":"y"},{"name":"y"}]})"),
              HasSubstr("outputs[1].name: 'y' is asked for twice"));
  EXPECT_THAT(Refusal(R"({"id":3,"inputs":[]})"), HasSubstr("id: is a number"));
}

// 100 bytes must not make the server allocate.
TEST(InferRequest, NothingIsAllocatedOnAStrangersWord) {
  EXPECT_THAT(Refusal(Input("FP32", "[1099511627776,1]", "[1]")), HasSubstr("has room for"));
  EXPECT_THAT(Refusal(Input("FP32", "[4294967296,4294967296]", "[1]")), HasSubstr("has room for"));
  EXPECT_THAT(Refusal(Input("FP32", "[9999999999999999999]", "[1]")), HasSubstr("dim 0"));
  EXPECT_THAT(Refusal(std::string(100000, '[')), HasSubstr("is not JSON"));
  const std::string deep = std::string(101, '[') + "1" + std::string(101, ']');
  EXPECT_THAT(Refusal(Input("FP32", "[1]", deep)), HasSubstr("nested more than 100 deep"));
}

// Of members that nobody asks for, too.
TEST(InferRequest, JsonIsAHundredDeep) {
  const auto nested = [](size_t depth) {
    const std::string value = std::string(depth - 1, '[') + std::string(depth - 1, ']');
    return absl::StrCat(R"({"other":)", value, R"(,"inputs":[]})");
  };
  EXPECT_TRUE(ReadInferRequest(nested(100)).ok()) << ReadInferRequest(nested(100)).status();
  EXPECT_THAT(Refusal(nested(101)), HasSubstr("the body: is nested more than 100 deep"));
}

TEST(InferReply, RoundTrips) {
  InferReply reply{"m", "1", "an id", {}};
  reply.outputs.push_back(
      {"y", Tensor::Of<float>({2, 2}, {0.1f, -0.0f, 1e-45f, std::numeric_limits<float>::max()})});
  reply.outputs.push_back({"b", Tensor::Of<bool>({2}, {true, false})});
  reply.outputs.push_back({"s", Tensor::Of<std::string>({2}, {"a\"b", "\xc3\xa9\n"})});
  const auto written = WriteInferReply(reply);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->content_type, "application/json");
  EXPECT_EQ(written->body,
            R"({"model_name":"m","model_version":"1","id":"an id","outputs":[)"
            R"({"name":"y","datatype":"FP32","shape":[2,2],"data":[0.1,-0.0,1e-45,3.4028235e+38]},)"
            R"({"name":"b","datatype":"BOOL","shape":[2],"data":[true,false]},)"
            "{\"name\":\"s\",\"datatype\":\"BYTES\",\"shape\":[2],"
            "\"data\":[\"a\\\"b\",\"\xc3\xa9\\n\"]}]}");
}

TEST(InferReply, WhatJsonHasNoWordFor) {
  InferReply reply{"m", "1", std::nullopt, {}};
  reply.outputs.push_back({"y", Tensor::Of<double>({3}, {NAN, HUGE_VAL, -HUGE_VAL})});
  EXPECT_THAT(WriteInferReply(reply)->body, HasSubstr("[NaN,Infinity,-Infinity]"));
  reply.model = "\xff";
  EXPECT_THAT(WriteInferReply(reply)->body, HasSubstr("\xef\xbf\xbd"));
  reply.outputs = {{"s", Tensor::Of<std::string>({1}, {"\xff"})}};
  EXPECT_THAT(std::string(WriteInferReply(reply).status().message()),
              HasSubstr("output 's' has text that is not UTF-8"));
}

}  // namespace
}  // namespace onward::serving
