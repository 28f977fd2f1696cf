// Compressed bodies. The bytes come from Python's gzip and zlib.
#include "serving/http/compression.h"

#include <sys/resource.h>
#include <zlib.h>

#include <string_view>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/protocol/content_coding.h"

namespace onward::serving {
namespace {

using namespace std::string_view_literals;  // NOLINT: of bytes with a NUL
using ::testing::HasSubstr;

// gzip.compress(b'{"inputs":[]}', mtime=0) and zlib.compress(b'{"inputs":[]}').
constexpr std::string_view kGzipped =
    "\037\213\010\000\000\000\000\000\002\003\253\126\312\314\053\050\055\051\126\262\212\216\255\005\000\242\000\251\246\015\000\000\000"sv;
constexpr std::string_view kDeflated =
    "\170\234\253\126\312\314\053\050\055\051\126\262\212\216\255\005\000\042\003\004\322"sv;
constexpr std::string_view kText = R"({"inputs":[]})";

std::string Refusal(Coding coding, std::string_view bytes, size_t most = 1000) {
  const auto text = Decompress(coding, bytes, most);
  EXPECT_TRUE(absl::IsInvalidArgument(text.status())) << text.status();
  return std::string(text.status().message());
}

std::string Compressed(Coding coding, std::string_view text) {
  return *Compress(coding, {text.substr(0, text.size() / 2), text.substr(text.size() / 2)});
}

TEST(Compression, WhatOthersCompressed) {
  EXPECT_EQ(*Decompress(Coding::kGzip, kGzipped, 13), kText);
  EXPECT_EQ(*Decompress(Coding::kDeflate, kDeflated, 13), kText);
  EXPECT_EQ(
      *Decompress(Coding::kGzip, absl::StrCat(std::string(kGzipped), std::string(kGzipped)), 100),
      absl::StrCat(std::string(kText), std::string(kText)));
  EXPECT_EQ(*Decompress(Coding::kIdentity, kText, 13), kText);
}

TEST(Compression, RoundTrips) {
  for (const size_t size : {0, 1, 1000, 262144, 262145, 3000000}) {
    std::string text(size, 'a');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * i % 251);
    for (const Coding coding : {Coding::kGzip, Coding::kDeflate})
      EXPECT_EQ(*Decompress(coding, Compressed(coding, text), size), text) << size;
  }
}

TEST(Compression, DamagedDataIsRefused) {
  for (size_t size = 0; size < kGzipped.size(); ++size)
    EXPECT_THAT(Refusal(Coding::kGzip, kGzipped.substr(0, size)), HasSubstr("ends early")) << size;
  for (size_t size = 0; size < kDeflated.size(); ++size)
    EXPECT_THAT(Refusal(Coding::kDeflate, kDeflated.substr(0, size)), HasSubstr("ends early"));
  std::string flipped(kDeflated);
  flipped.back() ^= 1;  // of the checksum
  EXPECT_THAT(Refusal(Coding::kDeflate, flipped), HasSubstr("is damaged"));
  EXPECT_THAT(Refusal(Coding::kGzip, kText), HasSubstr("is damaged"));
  EXPECT_THAT(Refusal(Coding::kGzip, kDeflated), HasSubstr("is damaged"));
  EXPECT_THAT(Refusal(Coding::kDeflate, kGzipped), HasSubstr("is damaged"));
  EXPECT_THAT(Refusal(Coding::kGzip, std::string(kGzipped) + "x"), HasSubstr("body"));
  EXPECT_THAT(Refusal(Coding::kDeflate, std::string(kDeflated) + "x"),
              HasSubstr("bytes after its end"));
}

TEST(Compression, TheLimitIsOfTheResult) {
  const std::string text(100000, 'a'), small = Compressed(Coding::kGzip, text);
  EXPECT_TRUE(Decompress(Coding::kGzip, small, 100000).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Decompress(Coding::kGzip, small, 99999).status()));
}

TEST(Compression, ABombTakesNoMoreThanTheLimit) {
  const std::string zeros(size_t{1} << 20, '0');
  const std::string member = *Compress(Coding::kGzip, std::vector<std::string_view>(64, zeros));
  std::string bomb;
  for (int i = 0; i < 16; ++i) bomb += member;
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = peak_kib();
  EXPECT_TRUE(absl::IsOutOfRange(Decompress(Coding::kGzip, bomb, size_t{1} << 20).status()));
  EXPECT_LE(peak_kib() - before, 8 * 1024);
}

TEST(Compression, TheRatioIsLimited) {
  constexpr size_t kMany = size_t{1} << 30;
  const auto decompressed = [](size_t size) {
    return Decompress(Coding::kGzip, Compressed(Coding::kGzip, std::string(size, '0')), kMany);
  };
  EXPECT_TRUE(decompressed(size_t{4} << 20).ok());
  EXPECT_THAT(std::string(decompressed(size_t{5} << 20).status().message()),
              HasSubstr("compressed by more than 200 to 1"));
}

TEST(Compression, WhatAcceptEncodingAsksFor) {
  const auto accepted = [](const std::string& value) {
    return AcceptedCoding({{"host", "a"}, {"accept-encoding", value}});
  };
  EXPECT_EQ(AcceptedCoding({{"host", "a"}}), Coding::kIdentity);
  EXPECT_EQ(accepted(""), Coding::kIdentity);
  EXPECT_EQ(accepted("gzip"), Coding::kGzip);
  EXPECT_EQ(accepted("deflate"), Coding::kDeflate);
  EXPECT_EQ(accepted("GZip, Deflate, br"), Coding::kGzip);
  EXPECT_EQ(accepted("deflate;q=1.0, gzip;q=0.5"), Coding::kDeflate);
  EXPECT_EQ(accepted("gzip; q=0.2 ,identity; q=0.8"), Coding::kIdentity);
  EXPECT_EQ(accepted("gzip;q=0"), Coding::kIdentity);
  EXPECT_EQ(accepted("gzip;q=0, *"), Coding::kDeflate);
  EXPECT_EQ(accepted("*"), Coding::kGzip);
  EXPECT_EQ(accepted("br, zstd"), Coding::kIdentity);
  EXPECT_EQ(accepted("gzip;q=nonsense"), Coding::kIdentity);
  EXPECT_EQ(accepted("gzip;q=2;;,,;q="), Coding::kIdentity);
}

TEST(Compression, WhatContentEncodingSays) {
  const auto coding = [](const std::string& value) {
    return CodingOf({{"content-encoding", value}});
  };
  EXPECT_EQ(CodingOf({}), Coding::kIdentity);
  EXPECT_EQ(coding("identity"), Coding::kIdentity);
  EXPECT_EQ(coding("GZIP"), Coding::kGzip);
  EXPECT_EQ(coding("x-gzip"), Coding::kGzip);
  EXPECT_EQ(coding("deflate"), Coding::kDeflate);
  for (const char* unknown : {"br", "gzip, gzip", "gzip;q=1", "zstd"})
    EXPECT_EQ(coding(unknown), std::nullopt) << unknown;
  EXPECT_EQ(CodingOf({{"content-encoding", "gzip"}, {"content-encoding", "gzip"}}), std::nullopt);
}

TEST(ContentCoding, OfRequests) {
  const auto decoded = [](const std::string& coding, std::string_view body, size_t most) {
    HttpRequest request;
    request.fields = {{"content-encoding", coding}};
    request.body = std::string(body);
    const auto refusal = DecodeBody(request, most);
    EXPECT_TRUE(refusal || request.body == kText);
    return refusal.value_or(HttpReply());
  };
  EXPECT_EQ(decoded("gzip", kGzipped, 13).status, 200);
  EXPECT_EQ(decoded("deflate", kDeflated, 13).status, 200);
  EXPECT_EQ(decoded("identity", kText, 13).status, 200);
  EXPECT_EQ(decoded("gzip", kGzipped, 12).status, 413);
  EXPECT_EQ(decoded("gzip", kGzipped.substr(0, 20), 13).status, 400);
  const HttpReply unknown = decoded("br", kText, 13);
  EXPECT_EQ(unknown.status, 415);
  const HttpFields fields = {{"Accept-Encoding", "gzip, deflate"}};
  EXPECT_EQ(unknown.fields, fields);
}

TEST(ContentCoding, OfReplies) {
  HttpRequest request;
  request.fields = {{"accept-encoding", "deflate"}};
  const std::string json(2000, '1');
  const auto tail = std::make_shared<const std::string>(2000, '2');
  HttpReply reply{.body = json, .parts = {{*tail, tail}}};
  EncodeBody(request, reply);
  const HttpFields fields = {{"Content-Encoding", "deflate"}};
  EXPECT_EQ(reply.fields, fields);
  EXPECT_TRUE(reply.parts.empty());
  EXPECT_EQ(*Decompress(Coding::kDeflate, reply.body, 4000), json + *tail);
  HttpReply small{.body = "{}"};
  EncodeBody(request, small);
  EXPECT_EQ(small.body, "{}");
  EXPECT_TRUE(small.fields.empty());
}

}  // namespace
}  // namespace onward::serving
