// Calls of tools that a request wants, whatever a model's scores are.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "tests/serving/random_text_server.h"

namespace onward::serving {
namespace {

using onward::testing::Reply;
using ::testing::HasSubstr;

constexpr char kMessages[] = "{% for m in messages %}{{ m.content }}{% endfor %}";
// Templates of models show their calls so.
constexpr char kHermes[] = R"({# <tool_call>\n{"name": , "arguments": }\n</tool_call> #})";
constexpr char kLlama[] = R"({# {"name": function name, "parameters": dictionary} #})";
constexpr char kMistral[] = R"({# [TOOL_CALLS] [{"name": , "arguments": }] #})";

class ToolChoiceTest : public RandomTextServerTest {
 protected:
  static json Tools() {
    return json::parse(R"([
        {"type": "function", "function": {"name": "weather", "description": "of a place",
         "parameters": {"type": "object", "additionalProperties": false, "required": ["place"],
          "properties": {"place": {"$ref": "#/$defs/place"}, "days": {"enum": [1, 7]}},
          "$defs": {"place": {"type": "string", "maxLength": 6}}}}},
        {"type": "function", "function": {"name": "now"}},
        {"type": "function", "function": {"name": "set",
         "parameters": {"properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}])");
  }
  static json Ask(const json& choice, const json& more = json::object()) {
    json body = {{"messages", {{{"role", "user"}, {"content", "hello"}}}},
                 {"max_tokens", 400},
                 {"tools", Tools()},
                 {"tool_choice", choice}};
    body.update(more);
    return body;
  }
  static json Named(const std::string& name) {
    return {{"type", "function"}, {"function", {{"name", name}}}};
  }
  // Checks a call by its tool, and returns the tool's name.
  static std::string Checked(const json& call) {
    EXPECT_EQ(call["type"], "function") << call;
    const std::string name = call["function"]["name"];
    const json arguments =
        json::parse(call["function"]["arguments"].get<std::string>(), nullptr, false);
    EXPECT_TRUE(arguments.is_object()) << call;
    if (name == "weather") {
      EXPECT_TRUE(arguments["place"].is_string()) << call;
      EXPECT_EQ(arguments.size(), arguments.contains("days") ? 2u : 1u) << call;
    } else if (name == "set") {
      EXPECT_TRUE(arguments["on"].is_boolean()) << call;
    } else {
      EXPECT_EQ(name, "now");
      EXPECT_EQ(arguments, json::object()) << call;
    }
    return name;
  }
  // The calls of a reply that is nothing but calls, by name.
  static std::map<std::string, int> CallsOf(const json& choice) {
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
    EXPECT_TRUE(choice["message"]["content"].is_null()) << choice;
    std::map<std::string, int> names;
    for (const json& call : choice["message"]["tool_calls"]) ++names[Checked(call)];
    return names;
  }
  std::string Error(const json& body) {
    const Reply reply = Post("/v1/chat/completions", body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return json::parse(reply.body)["error"]["message"];
  }
};

// Biases, here and below, make up for scores that would hardly ever choose a way: "n", "]".
TEST_F(ToolChoiceTest, RequiredCallsComeInTheFormOfTheTemplate) {
  const json more = {
      {"temperature", 2}, {"n", 2}, {"logit_bias", {{"110", 16}}}, {"parallel_tool_calls", false}};
  for (const char* form : {kHermes, kLlama, kMistral, ""}) {
    StartRandom(std::string(kMessages) + form);
    std::map<std::string, int> names;
    for (int seed = 0; seed < 30; ++seed) {
      json ask = Ask("required", more);
      ask["seed"] = seed;
      const json reply = Posted("/v1/chat/completions", ask);
      for (const json& choice : reply["choices"]) {
        const auto calls = CallsOf(choice);
        ASSERT_EQ(calls.size(), 1u) << form << choice;
        EXPECT_EQ(calls.begin()->second, 1) << form << choice;
        names.insert(calls.begin(), calls.end());
      }
    }
    EXPECT_EQ(names.size(), 3u) << form;
  }
}

TEST_F(ToolChoiceTest, SeveralCallsMayCome) {
  for (const char* form : {kHermes, kMistral}) {
    StartRandom(std::string(kMessages) + form);
    size_t most = 0;
    for (int seed = 0; seed < 30; ++seed) {
      json ask = Ask("required", {{"temperature", 2}, {"logit_bias", {{"93", 14}}}});
      ask["seed"] = seed;
      ask["max_tokens"] = 2000;
      const json reply = Posted("/v1/chat/completions", ask);
      CallsOf(reply["choices"][0]);
      most = std::max(most, reply["choices"][0]["message"]["tool_calls"].size());
    }
    EXPECT_GT(most, 1u) << form;
  }
}

TEST_F(ToolChoiceTest, ANamedFunctionIsCalledOnce) {
  StartRandom(std::string(kMessages) + kHermes);
  for (const char* name : {"weather", "now", "set"}) {
    for (int seed = 0; seed < 10; ++seed) {
      // A format is of contents, and there is none.
      const json reply = Posted(
          "/v1/chat/completions",
          Ask(Named(name), {{"seed", seed}, {"response_format", {{"type", "json_object"}}}}));
      EXPECT_EQ(CallsOf(reply["choices"][0]), (std::map<std::string, int>{{name, 1}}));
    }
  }
}

TEST_F(ToolChoiceTest, StreamsHaveThem) {
  StartRandom(std::string(kMessages) + kLlama);
  const Reply reply = Post("/v1/chat/completions", Ask(Named("set"), {{"stream", true}}));
  json calls = json::array(), finish;
  for (const std::string& event : Events(reply.body)) {
    if (event == "[DONE]") continue;
    const json choice = json::parse(event)["choices"][0];
    EXPECT_EQ(choice["delta"].value("content", ""), "");
    for (const json& call : choice["delta"].value("tool_calls", json::array()))
      calls.push_back(call);
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
  }
  ASSERT_EQ(calls.size(), 1u) << reply.body;
  EXPECT_EQ(Checked(calls[0]), "set");
  EXPECT_EQ(finish, "tool_calls");
}

TEST_F(ToolChoiceTest, NamesWhatIsWrong) {
  StartRandom();
  EXPECT_EQ(Error(Ask(Named("wether"))), "tool_choice: no tool is called 'wether'");
  EXPECT_EQ(Error(Ask("required", {{"tools", json::array()}})), "tool_choice: needs tools");
  for (const json& choice : {json("always"), json(3), json({{"type", "function"}}), Named("")})
    EXPECT_THAT(Error(Ask(choice)),
                HasSubstr("tool_choice: expected \"auto\", \"none\", \"required\" or"));
  json tools = Tools();
  tools[1]["function"].erase("name");
  EXPECT_EQ(Error(Ask("required", {{"tools", tools}})),
            "tools[1].function.name: expected a string");
  tools = Tools();
  tools[2]["function"]["parameters"] = "on";
  EXPECT_EQ(Error(Ask("required", {{"tools", tools}})),
            "tools[2].function.parameters: expected a schema, an object");
  tools[2]["function"]["parameters"] = {{"type", "string"}};
  EXPECT_EQ(Error(Ask("required", {{"tools", tools}})),
            "tools[2].function.parameters.type: a function's arguments are an \"object\"");
  tools[2]["function"]["parameters"] = {{"not", json::object()}};
  EXPECT_EQ(Error(Ask("required", {{"tools", tools}})),
            "tools[2].function.parameters.not: is not supported");
  EXPECT_EQ(Error(Ask("auto", {{"parallel_tool_calls", 1}})),
            "parallel_tool_calls: expected true or false");
}

}  // namespace
}  // namespace onward::serving
