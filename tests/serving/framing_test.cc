// Requests whose borders are in doubt (RFC 9112) are refused.
#include "serving/http/framing.h"

#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::serving {
namespace {

using namespace std::string_view_literals;  // NOLINT: of bytes with a NUL
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Said(const absl::Status& status) { return std::string(status.message()); }

TEST(Framing, Heads) {
  EXPECT_TRUE(CheckHead("GET / HTTP/1.1\r\nHost: a\r\nX: a\tb \xc3\xa9\r\n\r\n").ok());
  EXPECT_THAT(Said(CheckHead("GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n")), HasSubstr("folded"));
  EXPECT_THAT(Said(CheckHead("GET / HTTP/1.1\r\nX: a\r\n\tb\r\n\r\n")), HasSubstr("folded"));
  EXPECT_THAT(Said(CheckHead("GET / HTTP/1.1\nHost: a\r\n\r\n")), HasSubstr("carriage return"));
  EXPECT_THAT(Said(CheckHead("GET / HTTP/1.1\r\nX: a\rb\r\n\r\n")), HasSubstr("inside a line"));
  EXPECT_THAT(Said(CheckHead("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n"sv)),
              HasSubstr("control character"));
}

// Wherever it stands among the cache lines that the check takes at once.
TEST(Framing, WrongCharacterInALongHead) {
  for (size_t at = 0; at < 200; ++at) {
    std::string head = "GET / HTTP/1.1\r\nX: " + std::string(200, 'a') + "\r\n\r\n";
    const size_t place = head.find('a') + at;
    EXPECT_TRUE(CheckHead(head).ok());
    head[place] = '\x7f';
    EXPECT_THAT(Said(CheckHead(head)), HasSubstr("control character")) << at;
    head[place] = '\n';
    EXPECT_THAT(Said(CheckHead(head)), HasSubstr("carriage return")) << at;
    head[place] = '\r';
    EXPECT_THAT(Said(CheckHead(head)), HasSubstr("inside a line")) << at;
    head.replace(place, 1, "\r\n ");
    EXPECT_THAT(Said(CheckHead(head)), HasSubstr("folded")) << at;
  }
}

TEST(Framing, Fields) {
  EXPECT_TRUE(CheckFields({{"host", "a"}, {"content-length", "3"}}, 11).ok());
  EXPECT_TRUE(CheckFields({{"host", "a"}, {"transfer-encoding", "Chunked"}}, 11).ok());
  EXPECT_TRUE(CheckFields({}, 10).ok());
  for (const HttpFields& fields :
       {HttpFields{}, HttpFields{{"host", "a"}, {"host", "a"}},
        HttpFields{{"host", "a"}, {"transfer-encoding", "gzip, chunked"}},
        HttpFields{{"host", "a"}, {"transfer-encoding", "\"chunked\""}},
        HttpFields{{"host", "a"}, {"transfer-encoding", "chunked"}, {"content-length", "3"}},
        HttpFields{{"host", "a"}, {"content-length", "3"}, {"content-length", "3"}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckFields(fields, 11))) << fields.size();
  }
  EXPECT_FALSE(CheckFields({{"transfer-encoding", "chunked"}}, 10).ok());
}

TEST(Framing, Targets) {
  EXPECT_THAT(*SegmentsOf("/v2/models/a%20b/infer?x=/1"),
              ElementsAre("v2", "models", "a b", "infer"));
  EXPECT_THAT(*SegmentsOf("/v2/"), ElementsAre("v2"));
  EXPECT_THAT(*SegmentsOf("/"), ElementsAre());
  EXPECT_THAT(*SegmentsOf("/?a"), ElementsAre());
  EXPECT_THAT(*SegmentsOf("/%41"), ElementsAre("A"));
  for (const char* target : {"", "v2", "*", "http://a/v2", "/a%2", "/a%zz", "/a%2Fb", "/a%00",
                             "/a%0a", "/../a", "/a/%2e%2E", "/a b", "/a#b", "/\xc3\xa9"})
    EXPECT_FALSE(SegmentsOf(target).ok()) << target;
}

}  // namespace
}  // namespace onward::serving
