#include "files/chat_template/chat_template.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::files {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

absl::StatusOr<std::string> Rendered(const std::string& source,
                                     const ordered_json& variables = ordered_json::object()) {
  const auto made = ChatTemplate::Parse(source);
  if (!made.ok()) return made.status();
  return made->Render(variables);
}

std::string ErrorOf(const std::string& source,
                    const ordered_json& variables = ordered_json::object()) {
  const auto text = Rendered(source, variables);
  return text.ok() ? "no error: " + *text : std::string(text.status().message());
}

TEST(ChatTemplateTest, TrimsBlocksAsTransformersSetsIt) {
  EXPECT_EQ(*Rendered("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(*Rendered("a\n  {{- 1 -}}  \n b"), "a1b");
  EXPECT_EQ(*Rendered("  {%+ if true %} {% endif +%}\nx"), "   \nx");
  EXPECT_EQ(*Rendered("a {# note #}\n  {{ 1 }}\n"), "a   1");
  EXPECT_EQ(*Rendered("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
}

TEST(ChatTemplateTest, KeepsTheOrderOfMembers) {
  EXPECT_EQ(
      *Rendered("{{ x | tojson }}", ordered_json::parse(R"({"x":{"b":1,"a":[true,null,"é<"]}})")),
      R"({"b": 1, "a": [true, null, "é<"]})");
}

TEST(ChatTemplateTest, ScopesAreJinjas) {
  // A loop's assignments stay in it, a namespace's do not.
  EXPECT_EQ(
      *Rendered("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}"),
      "111");
  EXPECT_EQ(*Rendered("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}"
                      "{% endfor %}{{ n.x }}"),
            "4");
  EXPECT_EQ(*Rendered("{% if false %}{% set x = 1 %}{% endif %}{{ x }}", {{"x", 7}}), "7");
}

TEST(ChatTemplateTest, NamesWhatTheTemplateRefuses) {
  EXPECT_THAT(ErrorOf("a\n{{ raise_exception('roles must alternate') }}"),
              HasSubstr("line 2: the chat template refuses: roles must alternate"));
}

TEST(ChatTemplateTest, NamesLineAndConstructOfWhatItDoesNotUnderstand) {
  const std::pair<const char*, const char*> rows[] = {
      {"\n{% include 'x' %}", "line 2: '{% include %}' is not supported here"},
      {"{{ 1 | pprint }}", "line 1: the filter 'pprint' is not supported"},
      {"{{ 1 is prime }}", "line 1: the test 'prime' is not supported"},
      {"{% for i in x recursive %}{% endfor %}", "recursive loops are not supported"},
      {"{% if x %}", "'{% endif %}' is missing"},
      {"{% endif %}", "'{% endif %}' is not supported here"},
      {"{{ 'a }}", "a string has no closing quote"},
      {"{{ 1", "'{{' is not closed by '}}'"},
      {"{# x", "the comment is not closed"},
      {"{{ (1] }}", "unexpected ']', expected ')'"},
      {"{{ }}", "expected an expression, found '}}'"},
      {"{{ 1 1 }}", "expected '}}', found '1'"},
      {"{{ $ }}", "unexpected '$'"},
      {"{{ 99999999999999999999 }}", "does not fit 64 bits"},
      {"{% set true = 1 %}", "'true' cannot be assigned to"},
      {"{% break %}", "'{% break %}' is outside a loop"},
      {"{% macro f(a, a) %}{% endmacro %}", "the parameter 'a' appears twice"},
  };
  for (const auto& [source, error] : rows) EXPECT_THAT(ErrorOf(source), HasSubstr(error)) << source;
}

TEST(ChatTemplateTest, NamesWhatCannotBeDone) {
  const std::pair<const char*, const char*> rows[] = {
      {"\n\n{{ x.y }}", "line 3: 'x' is undefined"},
      {"{{ {}.a.b }}", "a dict has no 'a'"},
      {"{{ 1 + 'a' }}", "'+' of int and str is not possible"},
      {"{{ 1 / 0 }}", "division by zero"},
      {"{{ 9223372036854775807 + 1 }}", "integers beyond 64 bits"},
      {"{{ [] | map('upper') }}", "a generator has no text"},
      {"{{ [].append(1) }}", "'append' would change a list"},
      {"{{ ''.__class__ }}", "'__class__' is not supported"},
      {"{{ 5() }}", "a int cannot be called"},
      {"{{ 'a'.replace('b') }}", "'replace' lacks its 'new'"},
      {"{{ range(100001) }}", "a range has more than 100000 numbers"},
      {"{% set x.y = 1 %}", "'x' is not a namespace"},
      {"{{ [1, 'a'] | sort }}", "'<' of "},
  };
  for (const auto& [source, error] : rows) EXPECT_THAT(ErrorOf(source), HasSubstr(error)) << source;
}

TEST(ChatTemplateTest, BoundsWorkDepthAndText) {
  EXPECT_THAT(
      ErrorOf("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
      HasSubstr("too much work"));
  EXPECT_THAT(ErrorOf("{% set n = namespace(x='ab') %}{% for i in range(60) %}"
                      "{% set n.x = n.x + n.x %}{% endfor %}"),
              HasSubstr("too much work"));
  EXPECT_THAT(ErrorOf("{{ 'ab' * 999999999999 }}"), HasSubstr("too much"));
  // Characters cost more than their bytes.
  EXPECT_THAT(ErrorOf("{{ ('x' * 4000000) | list | length }}"), HasSubstr("too much work"));
  EXPECT_THAT(ErrorOf("{{ ('x' * 40000000) | tojson | length }}"), HasSubstr("too much work"));
  EXPECT_THAT(ErrorOf("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
              HasSubstr("calls itself too often"));
  EXPECT_THAT(ErrorOf("{% set n = namespace(x=1) %}{% for i in range(200) %}"
                      "{% set n.x = [n.x] %}{% endfor %}"),
              HasSubstr("lie inside each other"));
  EXPECT_THAT(ErrorOf("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"),
              HasSubstr("nested more than"));
  std::string sum = "1", blocks;
  for (int i = 0; i < 5000; ++i) sum += "+1";
  EXPECT_THAT(ErrorOf("{{ " + sum + " }}"), HasSubstr("nested more than"));
  for (int i = 0; i < 5000; ++i) blocks += "{% if 1 %}";
  EXPECT_THAT(ErrorOf(blocks), HasSubstr("nested more than"));
  std::string names;
  for (int i = 0; i < 1001; ++i) names += "{{ a" + std::to_string(i) + " }}";
  EXPECT_THAT(ErrorOf(names), HasSubstr("more than 1000 different names"));
  EXPECT_THAT(ErrorOf(std::string((256 << 10) + 1, ' ')), HasSubstr("more than 262144 bytes"));
}

TEST(ChatTemplateTest, RefusesVariablesThatAreNone) {
  EXPECT_THAT(ErrorOf("", ordered_json::array()), HasSubstr("not an object"));
  EXPECT_THAT(ErrorOf("", {{"x", 18446744073709551615ULL}}), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(ErrorOf("", {{"x", "\xff"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf("\xff"), HasSubstr("not UTF-8"));
  ordered_json deep = 1;
  for (int i = 0; i < 100; ++i) deep = ordered_json::array({deep});
  EXPECT_THAT(ErrorOf("", {{"x", deep}}), HasSubstr("nested more than 64 times"));
}

}  // namespace
}  // namespace onward::files
