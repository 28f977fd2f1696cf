// Templates in the manner of published ones: python3-jinja2 is the truth (make_cases.py).
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "files/chat_template/chat_template.h"
#include "gtest/gtest.h"

namespace onward::files {
namespace {

using nlohmann::ordered_json;

TEST(ChatTemplateCasesTest, AreJinjas) {
  std::ifstream file(std::string(ONWARD_SOURCE_DIR) + "/tests/files/chat_template/cases.json");
  const auto document = ordered_json::parse(file);
  const absl::Time now =
      absl::FromCivil(absl::CivilSecond(2026, 11, 3, 14, 5, 9), absl::LocalTimeZone());
  int texts = 0;
  for (const auto& row : document["cases"]) {
    const auto name = row["template"].get<std::string>();
    const auto made = ChatTemplate::Parse(document["templates"][name].get<std::string>());
    ASSERT_TRUE(made.ok()) << name << ": " << made.status();
    ordered_json variables = document["conversations"][row["conversation"].get<std::string>()];
    variables["bos_token"] = "<s>";
    variables["eos_token"] = "</s>";
    const auto text = made->Render(variables, now);
    if (row["text"].is_null()) {
      EXPECT_FALSE(text.ok()) << name << " of " << row["conversation"] << ": " << *text;
    } else {
      ASSERT_TRUE(text.ok()) << name << " of " << row["conversation"] << ": " << text.status();
      EXPECT_EQ(*text, row["text"].get<std::string>()) << name << " of " << row["conversation"];
      ++texts;
    }
  }
  EXPECT_GT(texts, 40);
}

}  // namespace
}  // namespace onward::files
