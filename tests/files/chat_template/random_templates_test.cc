// Random templates: python3-jinja2, set as transformers sets it, is the truth. ONWARD_TEMPLATES=N
// and ONWARD_SEED=N take others.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "files/chat_template/chat_template.h"
#include "gtest/gtest.h"

namespace onward::files {
namespace {

using nlohmann::ordered_json;

std::string Setting(const char* name, const char* otherwise) {
  const char* set = std::getenv(name);
  return set == nullptr ? otherwise : set;
}

// Where Jinja fails, ours may not write a text; what ours does not support, it names.
TEST(RandomTemplatesTest, AreJinjas) {
  const std::string seed = Setting("ONWARD_SEED", "1"), count = Setting("ONWARD_TEMPLATES", "300");
  const std::string command =
      absl::StrCat("python3 ", ONWARD_SOURCE_DIR, "/tests/files/chat_template/random_templates.py ",
                   seed, " ", count);
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string line;
  int rows = 0, failed = 0, refused = 0;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    const auto row = ordered_json::parse(line);
    line.clear();
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
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "python3-jinja2 is not here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(rows, std::stoi(count));
  std::printf("seed %s: %d templates, %d that fail in Jinja, %d that ours alone refuses\n",
              seed.c_str(), rows, failed, refused);
}

}  // namespace
}  // namespace onward::files
