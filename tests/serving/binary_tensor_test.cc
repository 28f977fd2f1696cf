// Tensors as bytes behind the JSON, as section 11 of the protocol's document has them.
#include "serving/protocol/binary_tensor.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/read_infer_request.h"

namespace onward::serving {
namespace {

using namespace std::string_view_literals;  // NOLINT: of bytes with a NUL
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Read(DType dtype, DimsView dims, std::string_view bytes) {
  const auto tensor = ReadBinaryTensor(dtype, dims, bytes);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? *tensor : Tensor();
}

std::string Refusal(DType dtype, DimsView dims, std::string_view bytes) {
  const auto tensor = ReadBinaryTensor(dtype, dims, bytes);
  EXPECT_TRUE(absl::IsInvalidArgument(tensor.status()));
  return std::string(tensor.status().message());
}

// Elements that begin like a cache line are not copied.
TEST(BinaryTensor, WhatIsReadApartIsNotCopied) {
  struct alignas(64) Bytes {
    float values[32];
  };
  const auto owner = std::make_shared<Bytes>();
  for (int i = 0; i < 32; ++i) owner->values[i] = static_cast<float>(i);
  const BodyPart tail{{reinterpret_cast<const char*>(owner->values), sizeof(Bytes)}, owner};
  const auto input = [](const std::string& name, int floats) {
    return absl::StrCat(R"({"name":")", name, R"(","datatype":"FP32","shape":[)", floats,
                        R"(],"parameters":{"binary_data_size":)", 4 * floats, "}}");
  };
  const std::string body =
      absl::StrCat(R"({"inputs":[)", input("a", 16), ",", input("b", 15), ",", input("c", 1), "]}");
  const auto request = ReadInferRequest(
      {{"inference-header-content-length", absl::StrCat(body.size())}}, body, {}, tail);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->inputs.at("a").tensor().raw_data(), owner->values);
  EXPECT_EQ(request->inputs.at("b").tensor().raw_data(), owner->values + 16);
  EXPECT_NE(request->inputs.at("c").tensor().raw_data(), owner->values + 31);
  EXPECT_EQ(request->inputs.at("c").tensor().span<float>()[0], 31);
  EXPECT_FALSE(ReadInferRequest({{"inference-header-content-length", "1"}}, body, {}, tail).ok());
}

TEST(BinaryTensor, EveryDatatypeIsLittleEndian) {
  EXPECT_THAT(Read(DType::kBool, {3}, "\0\1\1"sv).span<bool>(), ElementsAre(false, true, true));
  EXPECT_THAT(Read(DType::kUint8, {2}, "\xff\1"sv).span<uint8_t>(), ElementsAre(255, 1));
  EXPECT_THAT(Read(DType::kInt8, {2}, "\x80\x7f"sv).span<int8_t>(), ElementsAre(-128, 127));
  EXPECT_THAT(Read(DType::kUint16, {1}, "\x02\x01"sv).span<uint16_t>(), ElementsAre(258));
  EXPECT_THAT(Read(DType::kInt16, {1}, "\x00\x80"sv).span<int16_t>(), ElementsAre(-32768));
  EXPECT_THAT(Read(DType::kUint32, {1, 1}, "\4\3\2\1"sv).span<uint32_t>(), ElementsAre(0x01020304));
  EXPECT_THAT(Read(DType::kInt32, {}, "\xff\xff\xff\xff"sv).span<int32_t>(), ElementsAre(-1));
  EXPECT_THAT(Read(DType::kInt64, {1}, "\0\0\0\0\0\0\0\x80"sv).span<int64_t>(),
              ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(Read(DType::kUint64, {1}, "\0\0\0\0\1\0\0\0"sv).span<uint64_t>(),
              ElementsAre(uint64_t{1} << 32));
  // 1.5 = 0x3FC00000 = 0x3FF8000000000000; 0x3E00 as binary16, 0x3FC0 as the half of binary32.
  EXPECT_THAT(Read(DType::kFloat32, {1}, "\0\0\xc0\x3f"sv).span<float>(), ElementsAre(1.5f));
  EXPECT_THAT(Read(DType::kFloat64, {1}, "\0\0\0\0\0\0\xf8\x3f"sv).span<double>(),
              ElementsAre(1.5));
  EXPECT_EQ(static_cast<float>(Read(DType::kFloat16, {1}, "\x00\x3e"sv).span<Float16>()[0]), 1.5f);
  EXPECT_EQ(static_cast<float>(Read(DType::kBFloat16, {1}, "\xc0\x3f"sv).span<BFloat16>()[0]),
            1.5f);
  const Tensor odd = Read(DType::kFloat32, {4}, "\0\0\xc0\x7f\0\0\x80\xff\0\0\0\x80\1\0\0\0"sv);
  EXPECT_TRUE(std::isnan(odd.span<float>()[0]));
  EXPECT_EQ(odd.span<float>()[1], -HUGE_VALF);
  EXPECT_TRUE(std::signbit(odd.span<float>()[2]));
  EXPECT_EQ(odd.span<float>()[3], std::numeric_limits<float>::denorm_min());
  EXPECT_THAT(Read(DType::kString, {2, 2}, "\3\0\0\0a\0\xff\0\0\0\0\1\0\0\0b\0\0\0\0"sv)
                  .span<std::string>(),
              ElementsAre("a\0\xff"sv, "", "b", ""));
  EXPECT_EQ(Read(DType::kFloat32, {0, 3}, "").num_elements(), 0);
  EXPECT_EQ(Read(DType::kString, {0}, "").num_elements(), 0);
}

TEST(BinaryTensor, SizesMustFit) {
  EXPECT_THAT(Refusal(DType::kFloat32, {2, 2}, std::string(15, 0)),
              HasSubstr("expected 16 bytes for FP32 [2,2], got 15"));
  EXPECT_THAT(Refusal(DType::kFloat32, {2, 2}, std::string(17, 0)), HasSubstr("got 17"));
  EXPECT_THAT(Refusal(DType::kInt64, {0}, "a"), HasSubstr("expected 0 bytes"));
  EXPECT_THAT(Refusal(DType::kBool, {3}, "\0\1\2"sv),
              HasSubstr("element 2 of BOOL is 2, expected 0 or 1"));
  EXPECT_THAT(Refusal(DType::kString, {2}, "\1\0\0\0a\0\0"sv), HasSubstr("at least 4 bytes"));
  EXPECT_THAT(Refusal(DType::kString, {2}, "\3\0\0\0abc\0\0"sv),
              HasSubstr("element 1 of BYTES has no length: 2 bytes are left"));
  EXPECT_THAT(Refusal(DType::kString, {1}, "\xff\xff\xff\xff"sv),
              HasSubstr("element 0 of BYTES says that it has 4294967295 bytes: 0 are left"));
  EXPECT_THAT(Refusal(DType::kString, {1}, "\1\0\0\0ab"sv), HasSubstr("1 bytes are left after 1"));
  EXPECT_THAT(Refusal(DType::kString, {int64_t{1} << 40}, "\0\0\0\0"sv), HasSubstr("got 4"));
}

absl::StatusOr<InferRequest> Ask(std::string_view json, std::string_view binary) {
  return ReadInferRequest(absl::StrCat(std::string(json), std::string(binary)), json.size());
}

std::string AskRefusal(std::string_view json, std::string_view binary) {
  const auto request = Ask(json, binary);
  EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << json;
  return std::string(request.status().message());
}

// The document's own example.
constexpr char kExample[] =
    R"({"inputs":[{"name":"a","shape":[2,2],"datatype":"UINT32","parameters":{"binary_data_size":16}},)"
    R"({"name":"b","shape":[3],"datatype":"BOOL","parameters":{"binary_data_size":3}}],)"
    R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})";

TEST(BinaryRequest, TensorsStandInTheOrderOfTheJson) {
  const auto request = Ask(kExample, "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\1\0\1"sv);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->inputs.at("a").tensor().span<uint32_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(request->inputs.at("b").tensor().span<bool>(), ElementsAre(true, false, true));
  ASSERT_EQ(request->outputs.size(), 1);
  EXPECT_TRUE(request->outputs[0].binary);
  // JSON takes no room between them.
  const auto mixed = Ask(
      R"({"inputs":[{"name":"z","shape":[1],"datatype":"UINT8","parameters":{"binary_data_size":1}},)"
      R"({"name":"j","shape":[2],"datatype":"INT32","data":[7,8]},)"
      R"({"name":"e","shape":[0],"datatype":"FP64","parameters":{"binary_data_size":0}},)"
      R"({"name":"a","shape":[],"datatype":"UINT8","parameters":{"binary_data_size":1}}]})",
      "\1\2");
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ(mixed->inputs.at("z").tensor().span<uint8_t>()[0], 1);
  EXPECT_EQ(mixed->inputs.at("a").tensor().span<uint8_t>()[0], 2);
  EXPECT_THAT(mixed->inputs.at("j").tensor().span<int32_t>(), ElementsAre(7, 8));
}

TEST(BinaryRequest, WhichOutputsAreBinary) {
  const auto request = [](const char* parameters, const char* output) {
    const auto read = ReadInferRequest(absl::StrCat(R"({"inputs":[],"parameters":)", parameters,
                                                    R"(,"outputs":[{"name":"y")", output, "}]}"));
    EXPECT_TRUE(read.ok()) << read.status();
    return read->outputs[0].binary;
  };
  EXPECT_FALSE(request("{}", ""));
  EXPECT_TRUE(request(R"({"binary_data_output":true})", ""));
  EXPECT_TRUE(request("{}", R"(,"parameters":{"binary_data":true})"));
  EXPECT_FALSE(request(R"({"binary_data_output":true})", R"(,"parameters":{"binary_data":false})"));
  EXPECT_TRUE(
      ReadInferRequest(R"({"inputs":[],"parameters":{"binary_data_output":true}})")->binary_output);
}

TEST(BinaryRequest, PartsThatDoNotAddUp) {
  const std::string eighteen(18, 0), twenty(20, 0);
  EXPECT_THAT(AskRefusal(kExample, eighteen),
              HasSubstr("inputs[1]: binary_data_size of input 'b' is 3, but 2 bytes are left"));
  EXPECT_THAT(AskRefusal(kExample, twenty), HasSubstr("has 1 bytes after the JSON that no"));
  const auto input = [](const char* shape, const char* members) {
    return absl::StrCat(R"({"inputs":[{"name":"x","datatype":"FP32","shape":)", shape, members,
                        "}]}");
  };
  EXPECT_THAT(
      AskRefusal(input("[2]", R"(,"parameters":{"binary_data_size":4})"), "abcd"),
      HasSubstr("inputs[0]: binary data of input 'x': expected 8 bytes for FP32 [2], got 4"));
  EXPECT_THAT(
      AskRefusal(input("[1]", R"(,"data":[1],"parameters":{"binary_data_size":4})"), "abcd"),
      HasSubstr("input 'x' has both data and binary_data_size"));
  EXPECT_THAT(AskRefusal(input("[1]", ""), ""), HasSubstr("input 'x' has neither data nor"));
  EXPECT_THAT(AskRefusal(input("[1]", R"(,"parameters":{"binary_data_size":-4})"), "abcd"),
              HasSubstr("binary_data_size: is not a whole number of at least 0"));
  EXPECT_THAT(AskRefusal(input("[1]", R"(,"parameters":{"binary_data_size":"4"})"), "abcd"),
              HasSubstr("is a string, expected a whole number"));
  const std::string whole = input("[1]", R"(,"parameters":{"binary_data_size":4})");
  EXPECT_THAT(std::string(ReadInferRequest(whole).status().message()),
              HasSubstr("the field Inference-Header-Content-Length"));
  EXPECT_THAT(AskRefusal(input("[1]", R"(,"parameters":{"shared_memory_region":"r"})"), ""),
              HasSubstr("inputs[0].parameters.shared_memory_region: shared memory is off"));
}

// Section 21, item 6.
TEST(BinaryRequest, TheFieldOfTheJsonsLength) {
  const auto length = [](const std::string& value) {
    return JsonLengthOf({{"host", "a"}, {"inference-header-content-length", value}}, 100);
  };
  EXPECT_EQ(*JsonLengthOf({{"host", "a"}}, 100), std::nullopt);
  EXPECT_EQ(*length("0"), 0U);
  EXPECT_EQ(*length("99"), 99U);
  EXPECT_EQ(*length("100"), 100U);
  for (const char* value : {"101", "2147483648", "18446744073709551615", "18446744073709551616",
                            "99999999999999999999999"})
    EXPECT_THAT(std::string(length(value).status().message()),
                HasSubstr("is more than the body, which has 100 bytes"))
        << value;
  for (const char* value : {"", "-1", "+5", " 5", "5 ", "0x5", "five", "5,5", "5.0", "1e1"})
    EXPECT_THAT(std::string(length(value).status().message()), HasSubstr("is not a decimal number"))
        << value;
  for (const char* second : {"5", "6"}) {
    const HttpFields twice = {{"inference-header-content-length", "5"},
                              {"inference-header-content-length", second}};
    EXPECT_THAT(std::string(JsonLengthOf(twice, 100).status().message()),
                HasSubstr("is given twice"));
  }
  // One less and one more than the JSON.
  const std::string body(kExample);
  EXPECT_FALSE(ReadInferRequest(body + std::string(19, 0), body.size() - 1).ok());
  EXPECT_FALSE(ReadInferRequest(body + std::string(19, 0), body.size() + 1).ok());
}

ValueInfo Wanted(DType dtype, SymbolicDims shape) {
  ValueInfo input;
  input.name = "x";
  input.type = Type::Tensor(dtype, std::move(shape));
  return input;
}

TEST(BinaryRequest, RawBytesOfTheOnlyInput) {
  const HttpFields raw = {{"inference-header-content-length", "0"}};
  const auto read = [&](std::string_view body, const ValueInfo& input) {
    return ReadInferRequest(raw, body, {input});
  };
  const auto request = read("\1\2\3\4\5\6", Wanted(DType::kUint8, {Dim::Symbol("n"), Dim(3)}));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->binary_output);
  EXPECT_THAT(request->inputs.at("x").tensor().dims(), ElementsAre(2, 3));
  const auto text = read("any text", Wanted(DType::kString, {Dim(1)}));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->inputs.at("x").tensor().span<std::string>(), ElementsAre("any text"));
  EXPECT_FALSE(read("abcd", Wanted(DType::kUint8, {Dim::Symbol("n"), Dim(3)})).ok());
  EXPECT_FALSE(read("abcd", Wanted(DType::kUint8, {Dim::Symbol("n"), Dim::Symbol("m")})).ok());
  EXPECT_FALSE(read("a", Wanted(DType::kUint8, {Dim::Symbol("n"), Dim(0)})).ok());
  EXPECT_FALSE(read("a", Wanted(DType::kString, {Dim(2)})).ok());
  const std::vector<ValueInfo> inputs(2, Wanted(DType::kUint8, {Dim(1)}));
  EXPECT_FALSE(ReadInferRequest(raw, "a", inputs).ok());
}

std::string Whole(const HttpReply& reply) {
  std::string body = reply.body;
  for (const BodyPart& part : reply.parts) body += part.bytes;
  EXPECT_EQ(body.size(), BodySize(reply));
  return body;
}

TEST(BinaryReply, BytesFollowTheJson) {
  InferReply reply{"m", "1", std::nullopt, {}};
  reply.outputs.push_back({"y", Tensor::Of<float>({1, 2}, {1.5f, -0.0f}), true});
  reply.outputs.push_back({"j", Tensor::Of<int32_t>({1}, {7})});
  reply.outputs.push_back({"s", Tensor::Of<std::string>({2}, {"\xff", ""}), true});
  reply.outputs.push_back({"e", Tensor::Of<bool>({0}, {}), true});
  const auto written = WriteInferReply(reply);
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string json =
      R"({"model_name":"m","model_version":"1","outputs":[)"
      R"({"name":"y","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},)"
      R"({"name":"j","datatype":"INT32","shape":[1],"data":[7]},)"
      R"({"name":"s","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":9}},)"
      R"({"name":"e","datatype":"BOOL","shape":[0],"parameters":{"binary_data_size":0}}]})";
  EXPECT_EQ(Whole(*written), json + std::string("\0\0\xc0\x3f\0\0\0\x80\1\0\0\0\xff\0\0\0\0"sv));
  EXPECT_EQ(written->content_type, "application/octet-stream");
  const HttpFields fields = {{"Inference-Header-Content-Length", absl::StrCat(json.size())}};
  EXPECT_EQ(written->fields, fields);
}

TEST(BinaryReply, LargeTensorsAreNotCopied) {
  const void* data = nullptr;
  const auto write = [&] {
    Tensor large(DType::kUint8, {100000});
    std::fill_n(large.mutable_data<uint8_t>(), 100000, 'a');
    data = large.raw_data();
    InferReply reply{"m", "1", std::nullopt, {}};
    reply.outputs.push_back({"y", large, true});
    reply.outputs.push_back({"z", Tensor::Of<uint8_t>({1}, {'b'}), true});
    return WriteInferReply(reply);
  };
  const auto written = write();
  ASSERT_TRUE(written.ok()) << written.status();
  ASSERT_EQ(written->parts.size(), 2);
  EXPECT_EQ(written->parts[0].bytes.data(), data);
  EXPECT_EQ(Whole(*written).substr(written->body.size()), std::string(100000, 'a') + "b");
}

}  // namespace
}  // namespace onward::serving
