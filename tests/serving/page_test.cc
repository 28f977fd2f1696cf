// The page at /: what browsers get. tests/serving/page_in_browser.py looks at it with one.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/page/page_files.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/scratch_directory.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using onward::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

class PageTest : public ::testing::Test {
 protected:
  // Even where a key opens everything else.
  void SetUp() override {
    ServerOptions options;
    options.address.port = 0;
    options.keys.api = *KeyList::Read(directory_.Write("keys", "secret-1\n"));
    auto server = Server::Start({}, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<Client>(server_->port());
  }

  // What `pattern` finds in the text, its first group.
  static std::set<std::string> Found(const std::string& text, const char* pattern) {
    std::set<std::string> found;
    const std::regex regex(pattern);
    for (std::sregex_iterator each(text.begin(), text.end(), regex), end; each != end; ++each)
      found.insert((*each)[1]);
    return found;
  }

  onward::testing::ScratchDirectory directory_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(PageTest, HeadersAreStrict) {
  const Reply page = client_->Ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(page.head, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(page.head, HasSubstr("Cache-Control: no-cache\r\n"));
  EXPECT_THAT(page.head,
              HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src "
                        "'self'; connect-src 'self'; img-src 'self' data:; "));
  EXPECT_THAT(page.head, Not(HasSubstr("unsafe")));
  const std::set<std::string> tags = Found(page.head, "ETag: (\"[0-9a-f]{16}\")\r\n");
  ASSERT_EQ(tags.size(), 1U) << page.head;
  const std::string tag = *tags.begin();
  const Reply same = client_->Ask("GET", "/", "", absl::StrCat("If-None-Match: ", tag, "\r\n"));
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(client_->Ask("GET", "/", "", "If-None-Match: \"0\"\r\n").status, 200);
  EXPECT_EQ(client_->Ask("GET", "/page/page_files.h").status, 404);
  EXPECT_EQ(client_->Ask("POST", "/").status, 405);
  EXPECT_EQ(client_->Ask("GET", "/v2/models").status, 401);
}

TEST_F(PageTest, WhatItRefersToIsThere) {
  std::set<std::string> parts =
      Found(client_->Ask("GET", "/").body, "(?:src|href)=\"(/page/[^\"]*)\"");
  EXPECT_GE(parts.size(), 3U);
  for (const PageFile& file : PageFiles())
    for (const std::string& part : Found(std::string(file.text), "from \"\\./([^\"]*)\""))
      parts.insert("/page/" + part);
  for (const std::string& part : parts) {
    const Reply reply = client_->Ask("GET", part);
    EXPECT_EQ(reply.status, 200) << part;
    EXPECT_NE(reply.body, "") << part;
    EXPECT_THAT(reply.head, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    const bool script = part.size() > 3 && part.substr(part.size() - 3) == ".js";
    if (script) {
      EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/javascript"));
    }
  }
  EXPECT_EQ(parts.size() + 1, PageFiles().size());
}

// The policy would stop them anyway.
TEST_F(PageTest, NothingIsInlineAndNothingComesFromElsewhere) {
  const std::string page = client_->Ask("GET", "/").body;
  EXPECT_THAT(Found(page, "<script([^>]*)>"), ::testing::Each(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<style")));
  EXPECT_TRUE(Found(page, "\\s(on[a-z]+|style)=").empty());
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    for (const std::string& url : Found(text, "(https?://[^\"' ]*)"))
      EXPECT_EQ(url, "http://www.w3.org/2000/svg") << file.name;
    EXPECT_THAT(text, Not(HasSubstr("innerHTML"))) << file.name;
    EXPECT_THAT(text, Not(HasSubstr("eval("))) << file.name;
  }
}

}  // namespace
}  // namespace onward::serving
