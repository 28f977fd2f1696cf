// A stranger's schema: it is refused, or whatever a model chooses is JSON.
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generation/grammar/grammar_constraint.h"
#include "generation/grammar/json_schema.h"
#include "onward/generation/sampling.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

using namespace generation;  // NOLINT: the harness is all of it
using Json = nlohmann::ordered_json;

void Require(bool holds) {
  if (!holds) std::abort();
}

std::shared_ptr<const TokenOrder> Tokens() {
  static const auto made = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* more :
         {"{\"", "\":", "\",\"", "\"}", "]}", "[[", "true", "12", "\\n", "ab", "é"})
      tokens.emplace_back(more);
    return std::make_shared<const TokenOrder>(tokens, std::vector<int64_t>());
  }();
  return made;
}

constexpr const char* kParts[] = {
    R"({"type":"integer","minimum":-3,"maximum":120})",
    R"({"type":"number","exclusiveMinimum":0,"maximum":7})",
    R"({"type":"string","minLength":1,"maxLength":3})",
    R"({"type":"string","pattern":"^(a|[^b-z])+\\d{2}"})",
    R"({"enum":["a","ab",{"a":[1]}]})",
    R"({"$ref":"#"})",
    R"({"type":"array","items":{"$ref":"#"},"maxItems":2})",
    R"({"type":"object","additionalProperties":{"$ref":"#"}})",
    "true",
};

Json DrawnSchema(FuzzBytes& bytes, int depth) {
  const uint8_t kind = static_cast<uint8_t>(bytes.Byte() % 5);
  if (depth == 0 || kind == 0) return Json::parse(bytes.Pick(kParts));
  Json parts = Json::array();
  for (int i = bytes.Byte() % 3; i >= 0; --i) parts.push_back(DrawnSchema(bytes, depth - 1));
  if (kind == 1) return {{"anyOf", parts}};
  if (kind == 2) return {{"type", "array"}, {"prefixItems", parts}, {"items", parts[0]}};
  Json schema = {{"type", "object"}, {"required", Json::array()}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name(1 + i % 2, static_cast<char>('a' + i));
    schema["properties"][name] = parts[i];
    if (bytes.OneIn(2)) schema["required"].push_back(name);
  }
  if (kind == 3) schema["additionalProperties"] = bytes.OneIn(2);
  return schema;
}

// Scores by the bytes that are left; what ends a text gains with its length.
void Draw(const Json& schema, FuzzBytes& bytes) {
  auto grammar = JsonSchemaGrammar(schema, *Tokens(), "s");
  if (!grammar.ok()) return Require(grammar.status().message().substr(0, 1) == "s");
  GrammarConstraint constraint(std::make_shared<GrammarMasks>(*std::move(grammar), Tokens()), {});
  std::string text;
  for (int step = 0; step < 300 && !constraint.Ends(); ++step) {
    std::vector<float> scores(static_cast<size_t>(Tokens()->size()));
    for (int i = 0; i < 8; ++i) scores[bytes.Byte()] += 4;
    for (const char end : {'"', ']', '}'}) scores[static_cast<uint8_t>(end)] += 0.1F * step;
    constraint.Mask(absl::MakeSpan(scores));
    Require(constraint.status().ok());
    const int64_t token = Best(scores);
    constraint.Take(token);
    text += Tokens()->bytes_of(token);
  }
  if (constraint.Ends()) Require(!Json::parse(text, nullptr, false).is_discarded());
}

}  // namespace

// The first byte chooses: a schema of drawn parts, or one of these bytes up to a zero byte.
void JsonSchemaBytes(const uint8_t* data, size_t size) {
  if (size == 0) return;
  FuzzBytes bytes(data + 1, size - 1);
  if (data[0] % 2 == 0) return Draw(DrawnSchema(bytes, 3), bytes);
  std::string text;
  while (!bytes.empty()) {
    const auto byte = static_cast<char>(bytes.Byte());
    if (byte == '\0') break;
    text += byte;
  }
  int deepest = 0;
  const Json schema = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, const Json&) {
        deepest = std::max(deepest, depth);
        return deepest <= 64;  // as ReadBody has it
      },
      /*allow_exceptions=*/false);
  if (deepest <= 64 && !schema.is_discarded()) Draw(schema, bytes);
}

}  // namespace onward::fuzz
