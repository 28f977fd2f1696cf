#include "files/safetensors.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

std::string Golden(std::string_view name) {
  return absl::StrCat(ONWARD_SOURCE_DIR, "/tests/files/data/", std::string(name), ".safetensors");
}

std::string FileBytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// A file of that header and so many zero bytes.
std::string File(std::string_view header, size_t data) {
  const uint64_t length = header.size();
  return absl::StrCat(std::string(reinterpret_cast<const char*>(&length), 8), std::string(header),
                      std::string(data, '\0'));
}

std::string Error(std::string_view bytes) {
  const ScratchDirectory scratch;
  const auto file = ReadSafetensors(scratch.Write("x.safetensors", bytes));
  if (file.ok()) return "OK";
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("x.safetensors"));
  return std::string(file.status().message());
}

std::string HeaderError(std::string_view header, size_t data) { return Error(File(header, data)); }

TEST(SafetensorsTest, ReadsEveryTypeOfTheReferenceImplementation) {
  const auto file = ReadSafetensors(Golden("every_type"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors.size(), 19u);
  size_t n = 0;
  for (const auto& [name, tensor] : file->tensors) {
    const bool packed = name == "t.float4_e2m1fn_x2";
    EXPECT_EQ(tensor.dims(), (Dims{3, packed ? 4 : 2})) << name;
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
    for (int64_t i = 0; i < tensor.byte_size(); ++i)
      EXPECT_EQ(bytes[i], static_cast<uint8_t>(7 * i + n)) << name;
    ++n;
  }
  EXPECT_EQ(file->tensors.at("t.bfloat16").dtype(), DType::kBFloat16);
  EXPECT_EQ(file->tensors.at("t.float8_e4m3fn").dtype(), DType::kFloat8E4M3FN);
  EXPECT_EQ(file->tensors.at("t.float4_e2m1fn_x2").dtype(), DType::kFloat4E2M1);
}

TEST(SafetensorsTest, WritesTheReferenceImplementationsBytes) {
  const ScratchDirectory scratch;
  for (const char* name : {"every_type", "odd"}) {
    const auto file = ReadSafetensors(Golden(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(WriteSafetensors(*file, scratch.path(name)).ok());
    EXPECT_EQ(FileBytes(scratch.path(name)), FileBytes(Golden(name))) << name;
  }
}

TEST(SafetensorsTest, MetadataScalarsAndEmptyTensors) {
  const auto file = ReadSafetensors(Golden("odd"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("format"), "pt \xc3\xa9");
  EXPECT_EQ(file->tensors.at("scalar").rank(), 0);
  EXPECT_EQ(file->tensors.at("empty").dims(), (Dims{0, 5}));
  EXPECT_TRUE(file->tensors.count("a \"quoted\"\n\xc3\xa9"));
}

TEST(SafetensorsTest, WritingToATensorLeavesTheFileAlone) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("x.safetensors");
  Safetensors file;
  file.tensors["w"] = Tensor::Of<float>({32}, std::vector<float>(32, 1.5f));
  file.metadata["x"] = std::string(40, '.');  // the header is 120 bytes: the tensor is aligned
  ASSERT_TRUE(WriteSafetensors(file, path).ok());
  const std::string before = FileBytes(path);
  auto back = ReadSafetensors(path);
  ASSERT_TRUE(back.ok()) << back.status();
  back->tensors.at("w").mutable_data<float>()[3] = 7;
  EXPECT_EQ(FileBytes(path), before);
}

TEST(SafetensorsTest, AlignedTensorsAreReadInPlace) {
  const ScratchDirectory scratch;
  std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize(120, ' ');
  const auto file = ReadSafetensors(scratch.Write("x", File(header, 8)));
  ASSERT_TRUE(file.ok()) << file.status();
  Tensor w = file->tensors.at("w");
  w.mutable_data<float>()[0] = 3;  // not a write to read-only memory
  EXPECT_FALSE(file->tensors.at("w").unique());
}

TEST(SafetensorsTest, BoolsAreNormalised) {
  const ScratchDirectory scratch;
  const std::string path = scratch.Write(
      "x", absl::StrCat(File(R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 0),
                        std::string("\x02\x00\xff", 3)));
  const auto file = ReadSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(SameBits(file->tensors.at("b"), Tensor::Of<bool>({3}, {true, false, true})));
}

TEST(SafetensorsTest, RefusesHostileFiles) {
  EXPECT_THAT(Error(""), HasSubstr("shorter than 8 bytes"));
  EXPECT_THAT(Error(std::string(8, '\xff')), HasSubstr("a header of 18446744073709551615 bytes"));
  EXPECT_THAT(Error(File("{}", 0).substr(0, 9)), HasSubstr("truncated"));
  EXPECT_THAT(HeaderError("nonsense", 0), HasSubstr("the header is not JSON"));
  EXPECT_THAT(HeaderError("{}x", 0), HasSubstr("the header is not JSON"));
  EXPECT_THAT(HeaderError("[]", 0), HasSubstr("unexpected a list"));
  EXPECT_THAT(HeaderError(std::string(1000000, '['), 0), HasSubstr("unexpected a list"));
  EXPECT_THAT(HeaderError(R"({"a":{"b":{"c":{}}}})", 0), HasSubstr("unknown field 'b'"));
  EXPECT_THAT(HeaderError(R"({"a":1})", 0), HasSubstr("'a': unexpected 1"));
  EXPECT_THAT(HeaderError(R"({"a":null})", 0), HasSubstr("unexpected null"));
  EXPECT_THAT(HeaderError(R"({"__metadata__":{"x":1}})", 0), HasSubstr("unexpected 1"));
  EXPECT_THAT(HeaderError("{}", 3), HasSubstr("3 bytes follow"));
  EXPECT_THAT(HeaderError("{\"\xff\":{}}", 0), HasSubstr("the header is not JSON"));
}

TEST(SafetensorsTest, RefusesTensorsThatDoNotFit) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                      size_t data) {
    return HeaderError(absl::StrCat("{\"a\":{\"dtype\":\"", std::string(dtype),
                                    "\",\"shape\":", std::string(shape),
                                    ",\"data_offsets\":", std::string(offsets), "}}"),
                       data);
  };
  EXPECT_EQ(one("F32", "[2]", "[0,8]", 8), "OK");
  EXPECT_THAT(one("F33", "[2]", "[0,8]", 8), HasSubstr("'a': the format has no dtype 'F33'"));
  EXPECT_THAT(one("F32", "[3]", "[0,8]", 8), HasSubstr("bytes 0 to 8 do not fit float32[3]"));
  EXPECT_THAT(one("F32", "[2]", "[0,8]", 7), HasSubstr("ends at byte 8 of 7"));
  EXPECT_THAT(one("F32", "[2]", "[4,12]", 12), HasSubstr("begins at byte 4"));
  EXPECT_THAT(one("F32", "[2]", "[8,0]", 8), HasSubstr("bytes 8 to 0"));
  EXPECT_THAT(one("F32", "[-2]", "[0,8]", 8), HasSubstr("unexpected -2"));
  EXPECT_THAT(one("F32", "[2.0]", "[0,8]", 8), HasSubstr("unexpected 2.0"));
  EXPECT_THAT(one("F32", "[9223372036854775808]", "[0,8]", 8), HasSubstr("unexpected 92233720"));
  EXPECT_THAT(one("F32", "[4294967296,4294967296]", "[0,8]", 8),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(one("U8", "[0,4611686018427387904,8]", "[0,0]", 0),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(one("F64", "[4611686018427387904]", "[0,8]", 8), HasSubstr("overflow"));
  EXPECT_THAT(one("F4", "[3]", "[0,2]", 2), HasSubstr("within a byte"));
  EXPECT_THAT(one("F32", "[2]", "[0]", 8), HasSubstr("two numbers"));
  EXPECT_THAT(one("F32", "2", "[0,8]", 8), HasSubstr("unexpected 2 for 'shape'"));
  std::string ranks = "[1";
  for (int i = 0; i < 64; ++i) ranks += ",1";
  EXPECT_THAT(one("U8", ranks + "]", "[0,1]", 1), HasSubstr("more than 64 dims"));
}

TEST(SafetensorsTest, RefusesOverlapsAndDuplicates) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string b = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]})";
  EXPECT_THAT(HeaderError(absl::StrCat("{", a, ",", b, "}"), 3),
              HasSubstr("'b': begins at byte 1"));
  EXPECT_THAT(HeaderError(absl::StrCat("{", a, ",", a, "}"), 2), HasSubstr("'a' appears twice"));
  EXPECT_THAT(HeaderError(R"({"a":{"dtype":"U8","dtype":"U8"}})", 2),
              HasSubstr("'dtype' appears twice"));
  EXPECT_THAT(HeaderError(R"({"a":{"dtype":"U8","shape":[2]}})", 2), HasSubstr("needs dtype"));
}

TEST(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string bytes = FileBytes(Golden("odd"));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(Error(bytes.substr(0, size)), "OK") << size;
}

TEST(SafetensorsTest, RefusesToWriteWhatTheFormatLacks) {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& name, Tensor tensor) {
    Safetensors file;
    file.tensors[name] = std::move(tensor);
    return std::string(WriteSafetensors(file, scratch.path("x")).message());
  };
  EXPECT_THAT(error("s", Tensor(DType::kString, {1})),
              HasSubstr("'s': safetensors has no dtype string"));
  EXPECT_THAT(error("i", Tensor(DType::kInt4, {2})), HasSubstr("no dtype int4"));
  EXPECT_THAT(error("f", Tensor(DType::kFloat4E2M1, {3})), HasSubstr("within a byte"));
  EXPECT_THAT(error("\xff", Tensor(DType::kUint8, {1})), HasSubstr("not UTF-8"));
  EXPECT_THAT(error("__metadata__", Tensor(DType::kUint8, {1})), HasSubstr("__metadata__"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path("x")));
}

}  // namespace
}  // namespace onward::files
