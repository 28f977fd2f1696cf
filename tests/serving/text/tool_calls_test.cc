// Calls of tools in texts, whole and in pieces of any size.
#include "serving/text/tool_calls.h"

#include "gtest/gtest.h"

namespace onward::serving {
namespace {

struct Shown {
  std::string text;
  std::vector<std::string> calls;  // "name arguments"
};

Shown ReadIn(ToolSyntax syntax, std::string_view text, size_t size) {
  ToolCallReader reader(syntax);
  Shown shown;
  const auto add = [&](const ToolCallReader::Read& read) {
    shown.text += read.text;
    for (const ToolCall& call : read.calls) shown.calls.push_back(call.name + " " + call.arguments);
  };
  for (size_t at = 0; at < text.size(); at += size) add(reader.Push(text.substr(at, size)));
  add(reader.Finish());
  return shown;
}

void ExpectRead(ToolSyntax syntax, std::string_view text, const std::string& shown,
                const std::vector<std::string>& calls) {
  for (const size_t size : {1, 2, 3, 7, 1000}) {
    const Shown read = ReadIn(syntax, text, size);
    EXPECT_EQ(read.text, shown) << text << " in pieces of " << size;
    EXPECT_EQ(read.calls, calls) << text << " in pieces of " << size;
  }
}

TEST(ToolCallsTest, BetweenTags) {
  constexpr ToolSyntax kTags = ToolSyntax::kTags;
  ExpectRead(kTags, R"(<tool_call>
{"name": "weather", "arguments": {"place": "Oslo", "days": 2}}
</tool_call>)",
             "", {R"(weather {"place":"Oslo","days":2})"});
  ExpectRead(kTags,
             R"(I look. <tool_call>{"name":"a","arguments":{}}</tool_call>
<tool_call>{"name":"b","arguments":"{\"x\": 1}"}</tool_call>
)",
             "I look.", {"a {}", R"(b {"x": 1})"});
  // Strings may have the tags, and quotes.
  ExpectRead(kTags,
             R"(<tool_call>{"name":"f","arguments":{"s":"\"</tool_call>"}}</tool_call> done)",
             " done", {R"(f {"s":"\"</tool_call>"})"});
  ExpectRead(kTags, "a < b, <tool_calls> ", "a < b, <tool_calls> ", {});
  // No calls: they stay as they are.
  for (const char* text :
       {"<tool_call>no JSON</tool_call>", R"(<tool_call>{"name": 3, "arguments": {}}</tool_call>)",
        R"(<tool_call>{"name": "f"}</tool_call>)", R"(x <tool_call>{"name": "f", "argum)",
        R"(<tool_call>{"name": "f", "arguments": [1]}</tool_call>)",
        R"(<tool_call>{"name": "f", "arguments": "x"}</tool_call>)"}) {
    std::string shown = text;
    if (shown[0] == 'x') shown.erase(1, 1);  // spaces before a tag go
    ExpectRead(kTags, text, shown, {});
  }
}

TEST(ToolCallsTest, AsTheWholeText) {
  constexpr ToolSyntax kWhole = ToolSyntax::kWholeText;
  ExpectRead(kWhole, R"({"name": "f", "parameters": {"x": [1, 2]}})", "", {R"(f {"x":[1,2]})"});
  ExpectRead(kWhole,
             R"([TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}])", "",
             {"f {}", "g {}"});
  ExpectRead(kWhole, R"(<|python_tag|>{"name": "f", "parameters": {}})", "", {"f {}"});
  ExpectRead(kWhole, "Hello {", "Hello {", {});
  ExpectRead(kWhole, "[1, 2]", "[1, 2]", {});
  ExpectRead(kWhole, R"([{"name": "f", "arguments": {}}, 3])",
             R"([{"name": "f", "arguments": {}}, 3])", {});
  ExpectRead(kWhole, R"({"name": "f", "parameters")", R"({"name": "f", "parameters")", {});
}

TEST(ToolCallsTest, UnknownFormsStayText) {
  const std::string text = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  ExpectRead(ToolSyntax::kNone, text, text, {});
}

TEST(ToolCallsTest, TemplatesShowTheirForm) {
  EXPECT_EQ(ToolSyntaxOf("{{ '<tool_call>\\n' }}"), ToolSyntax::kTags);
  EXPECT_EQ(ToolSyntaxOf("{{ '[TOOL_CALLS]' }}"), ToolSyntax::kWholeText);
  EXPECT_EQ(ToolSyntaxOf(R"({"name": function name, "parameters": dictionary})"),
            ToolSyntax::kWholeText);
  EXPECT_EQ(ToolSyntaxOf("{{ messages }}"), ToolSyntax::kNone);
}

}  // namespace
}  // namespace onward::serving
