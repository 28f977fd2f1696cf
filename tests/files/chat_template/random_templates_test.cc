// Random templates: python3-jinja2, set as transformers sets it, is the truth. ONWARD_TEMPLATES=N
// and ONWARD_SEED=N take others.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/chat_template/chat_template.h"
#include "gtest/gtest.h"
#include "tests/support/command_output.h"

namespace onward::files {
namespace {

using nlohmann::ordered_json;

// Where Jinja fails, ours may not write a text; what ours does not support, it names.
TEST(RandomTemplatesTest, AreJinjas) {
  const std::string seed = testing::Setting("ONWARD_SEED", "1"),
                    count = testing::Setting("ONWARD_TEMPLATES", "300");
  const testing::CommandOutput drawn = testing::OutputOf(
      absl::StrCat("python3 ", ONWARD_SOURCE_DIR, "/tests/files/chat_template/random_templates.py ",
                   seed, " ", count));
  if (drawn.exit_code == 77) GTEST_SKIP() << "python3-jinja2 is not here";
  ASSERT_EQ(drawn.exit_code, 0);
  int rows = 0, failed = 0, refused = 0;
  const std::vector<std::string> lines = absl::StrSplit(drawn.text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const auto row = ordered_json::parse(line);
    ++rows;
    const auto source = row["template"].get<std::string>();
    const auto made = ChatTemplate::Parse(source);
    const auto text = made.ok() ? made->Render(row["variables"]) : made.status();
    if (row["expected"].is_null()) {
      ++failed;
      EXPECT_FALSE(text.ok()) << source << "\nours: " << *text
                              << "\nvariables: " << row["variables"];
      continue;
    }
    if (!text.ok() && text.status().message().find("not supported") != absl::string_view::npos) {
      ++refused;
      continue;
    }
    EXPECT_TRUE(text.ok()) << source << "\n"
                           << text.status() << "\njinja: " << row["expected"]
                           << "\nvariables: " << row["variables"];
    if (text.ok()) {
      EXPECT_EQ(*text, row["expected"].get<std::string>())
          << source << "\nvariables: " << row["variables"];
    }
  }
  EXPECT_EQ(rows, std::stoi(count));
  std::printf("seed %s: %d templates, %d that fail in Jinja, %d that ours alone refuses\n",
              seed.c_str(), rows, failed, refused);
}

}  // namespace
}  // namespace onward::files
