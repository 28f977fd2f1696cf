// Whom keys let in.
#include "serving/keys.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KeysTest : public ::testing::Test {
 protected:
  KeyList Read(const std::string& text) {
    const auto keys = KeyList::Read(directory_.Write("keys", text));
    EXPECT_TRUE(keys.ok()) << keys.status();
    return keys.value_or(KeyList());
  }
  std::string Refusal(const std::string& text) {
    const absl::Status status = KeyList::Read(directory_.Write("keys", text)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }
  // The status for a request with this field Authorization; "": without it.
  static int Status(const AccessKeys& keys, RouteClass route_class,
                    const std::string& authorization) {
    HttpFields fields = {{"host", "a"}};
    if (!authorization.empty()) fields.emplace_back("authorization", authorization);
    const auto refusal = CheckKey(keys, route_class, fields);
    if (!refusal) return 200;
    const bool asks = !refusal->fields.empty() && refusal->fields[0].first == "WWW-Authenticate";
    EXPECT_EQ(asks, refusal->status == 401);
    EXPECT_THAT(refusal->body, HasSubstr("{\"error\":"));
    EXPECT_THAT(refusal->body, Not(HasSubstr("secret")));
    return refusal->status;
  }

  testing::ScratchDirectory directory_;
};

TEST_F(KeysTest, Files) {
  const std::string longest(256, 'k');
  const KeyList keys =
      Read(absl::StrCat("# of the team\n\n  secret-1  \r\nsecret-2\n#secret-3\n", longest));
  EXPECT_TRUE(keys.Has("secret-1"));
  EXPECT_TRUE(keys.Has("secret-2"));
  EXPECT_TRUE(keys.Has(longest));
  using namespace std::string_view_literals;  // NOLINT: of bytes with a NUL
  for (const std::string_view wrong :
       {""sv, "secret-"sv, "secret-11"sv, "secret-3"sv, "#secret-3"sv, "SECRET-1"sv, "secret-1\0"sv,
        "# of the team"sv})
    EXPECT_FALSE(keys.Has(wrong)) << wrong;
  EXPECT_FALSE(keys.Has(longest + "k"));
}

TEST_F(KeysTest, FilesThatCannotBe) {
  EXPECT_THAT(Refusal(""), HasSubstr("has no key"));
  EXPECT_THAT(Refusal("# nothing\n\n"), HasSubstr("has no key"));
  EXPECT_THAT(Refusal("a\nsecret key\n"), HasSubstr("line 2: a key has printable ASCII"));
  EXPECT_THAT(Refusal("secret key\n"), Not(HasSubstr("secret")));
  EXPECT_THAT(Refusal(std::string(257, 'a')), HasSubstr("at most 256 characters, this one 257"));
  EXPECT_TRUE(absl::IsNotFound(KeyList::Read(directory_.path("none")).status()));
  EXPECT_TRUE(absl::IsNotFound(KeyList::Read(directory_.path()).status()));
}

TEST_F(KeysTest, WhoMayReadTheFile) {
  const std::string path = directory_.Write("keys", "secret");
  chmod(path.c_str(), 0600);
  EXPECT_FALSE(KeyList::Read(path)->others_may_read());
  chmod(path.c_str(), 0644);
  EXPECT_TRUE(KeyList::Read(path)->others_may_read());
}

TEST_F(KeysTest, WithoutKeys) {
  const AccessKeys none;
  EXPECT_EQ(Status(none, RouteClass::kOpen, ""), 200);
  EXPECT_EQ(Status(none, RouteClass::kInference, ""), 200);
  EXPECT_EQ(Status(none, RouteClass::kInference, "Bearer anything"), 200);
  EXPECT_EQ(Status(none, RouteClass::kAdmin, ""), 403);
  EXPECT_EQ(Status(none, RouteClass::kAdmin, "Bearer anything"), 403);
}

TEST_F(KeysTest, EachClassWantsItsKey) {
  const AccessKeys keys = {.api = Read("secret-a\n"), .admin = Read("secret-b\n")};
  struct Case {
    const char* authorization;
    int open, inference, admin;
  };
  const Case cases[] = {
      {"", 200, 401, 401},
      {"Bearer secret-a", 200, 200, 403},
      {"bearer  secret-a", 200, 200, 403},
      {"Bearer secret-b", 200, 200, 200},
      {"Bearer secret-c", 200, 403, 403},
      {"Bearer secret-a secret-b", 200, 403, 403},
      {"Bearer ", 200, 401, 401},
      {"Bearer", 200, 401, 401},
      {"Basic secret-a", 200, 401, 401},
      {"secret-a", 200, 401, 401},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(Status(keys, RouteClass::kOpen, each.authorization), each.open);
    EXPECT_EQ(Status(keys, RouteClass::kInference, each.authorization), each.inference)
        << each.authorization;
    EXPECT_EQ(Status(keys, RouteClass::kAdmin, each.authorization), each.admin)
        << each.authorization;
  }
  const HttpFields twice = {{"authorization", "Bearer secret-a"},
                            {"authorization", "Bearer secret-a"}};
  EXPECT_EQ(CheckKey(keys, RouteClass::kInference, twice)->status, 401);
}

TEST_F(KeysTest, OneKindAlone) {
  const AccessKeys api = {.api = Read("secret-a\n"), .admin = std::nullopt};
  EXPECT_EQ(Status(api, RouteClass::kAdmin, "Bearer secret-a"), 403);
  EXPECT_EQ(Status(api, RouteClass::kInference, "Bearer secret-a"), 200);
  const AccessKeys admin = {.api = std::nullopt, .admin = Read("secret-b\n")};
  EXPECT_EQ(Status(admin, RouteClass::kInference, ""), 200);
  EXPECT_EQ(Status(admin, RouteClass::kAdmin, ""), 401);
  EXPECT_EQ(Status(admin, RouteClass::kAdmin, "Bearer secret-b"), 200);
}

}  // namespace
}  // namespace onward::serving
