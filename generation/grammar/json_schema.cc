#include "generation/grammar/json_schema.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "generation/grammar/schema_compiler.h"
#include "onward/status.h"

namespace onward::generation {
namespace {

using Json = nlohmann::ordered_json;
using Node = Grammar::Node;

constexpr size_t kMostBytes = size_t{256} << 10;  // of a schema

// Keywords that say nothing about values, or are about other keywords.
constexpr std::string_view kAnnotations[] = {
    "$schema",         "$id",           "$comment",        "$anchor",     "$defs",
    "definitions",     "title",         "default",         "description", "examples",
    "example",         "readOnly",      "writeOnly",       "deprecated",  "nullable",
    "contentEncoding", "discriminator", "contentMediaType"};

// Keywords by the type of what they are about.
constexpr std::pair<std::string_view, std::string_view> kTyped[] = {
    {"properties", "object"},    {"required", "object"},         {"additionalProperties", "object"},
    {"minProperties", "object"}, {"maxProperties", "object"},    {"items", "array"},
    {"prefixItems", "array"},    {"minItems", "array"},          {"maxItems", "array"},
    {"uniqueItems", "array"},    {"minLength", "string"},        {"maxLength", "string"},
    {"pattern", "string"},       {"format", "string"},           {"minimum", "number"},
    {"maximum", "number"},       {"exclusiveMinimum", "number"}, {"exclusiveMaximum", "number"}};

bool IsAnnotation(std::string_view keyword) {
  return absl::c_linear_search(kAnnotations, keyword) || keyword.substr(0, 2) == "x-";
}

std::string_view TypeOf(std::string_view keyword) {
  const auto* const row = std::find_if(std::begin(kTyped), std::end(kTyped),
                                       [&](const auto& each) { return each.first == keyword; });
  return row == std::end(kTyped) ? "" : row->second;
}

// Refuses keywords beside `keyword` that are not annotations, nor of `others`.
absl::Status Only(const SchemaPlace& at, std::string_view keyword,
                  std::initializer_list<std::string_view> others = {}) {
  for (const auto& [name, value] : at.schema->items()) {
    if (name == keyword || IsAnnotation(name) || absl::c_linear_search(others, name)) continue;
    return at.At(name).Error(absl::StrCat("is not supported beside ", std::string(keyword)));
  }
  return absl::OkStatus();
}

}  // namespace

SchemaPlace SchemaPlace::At(std::string_view keyword) const {
  const Json* inner = Find(keyword);
  return {inner, absl::StrCat(path, ".", files::PrintableUtf8(keyword))};
}

const Json* SchemaPlace::Find(std::string_view keyword) const {
  if (schema == nullptr || !schema->is_object()) return nullptr;
  const auto found = schema->find(std::string(keyword));
  return found == schema->end() ? nullptr : &*found;
}

absl::Status SchemaPlace::Error(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(what)));
}

absl::StatusOr<uint32_t> SchemaPlace::Count(std::string_view keyword, uint32_t otherwise) const {
  const Json* value = Find(keyword);
  if (value == nullptr) return otherwise;
  const double count = value->is_number() ? value->get<double>() : -1;
  if (count < 0 || count != static_cast<double>(static_cast<uint64_t>(std::min(count, 1e15))))
    return At(keyword).Error("expected a whole number of at least 0");
  return static_cast<uint32_t>(std::min(count, static_cast<double>(kNoLimit)));
}

absl::StatusOr<bool> SchemaPlace::Flag(std::string_view keyword, bool otherwise) const {
  const Json* value = Find(keyword);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return At(keyword).Error("expected true or false");
  return value->get<bool>();
}

bool HasType(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (!value.is_number_float()) return value.is_number_integer();
  const double number = value.get<double>();
  return number == static_cast<double>(static_cast<int64_t>(std::clamp(number, -9e18, 9e18)));
}

absl::StatusOr<std::vector<std::string>> TypesOf(const SchemaPlace& at) {
  static constexpr std::string_view kTypes[] = {"null",   "boolean", "object", "array",
                                                "string", "number",  "integer"};
  std::vector<std::string> types;
  const Json* given = at.Find("type");
  if (given == nullptr) {
    for (const auto& [name, value] : at.schema->items()) {
      const std::string type(TypeOf(name));
      if (!type.empty() && !absl::c_linear_search(types, type)) types.push_back(type);
    }
    return types;
  }
  const Json all = given->is_array() ? *given : Json::array({*given});
  for (const Json& type : all) {
    if (!type.is_string() || !absl::c_linear_search(kTypes, type.get<std::string>()))
      return at.At("type").Error(
          "expected null, boolean, object, array, string, number, integer, or an array of these");
    types.push_back(type.get<std::string>());
  }
  if (types.empty()) return at.At("type").Error("has no type");
  return types;
}

absl::StatusOr<Node> SchemaCompiler::Compile(Node next) {
  const int32_t first = rules_[root_.schema] = grammar_.builder().NewRule();
  undefined_.emplace_back(root_, first);
  while (!undefined_.empty()) {
    const auto [place, rule] = undefined_.front();
    undefined_.pop_front();
    ONWARD_ASSIGN_OR_RETURN(const Node start, Build(place, Grammar::kReturn));
    grammar_.builder().Define(rule, start);
    if (grammar_.builder().too_large()) return root_.Error("the schema is too large");
  }
  return grammar_.builder().Call(first, next);
}

absl::StatusOr<Node> SchemaCompiler::Build(const SchemaPlace& at, Node next) {
  if (grammar_.builder().too_large()) return root_.Error("the schema is too large");
  if (at.schema->is_boolean())
    return at.schema->get<bool>() ? grammar_.Value(next) : grammar_.builder().Choice({});
  if (!at.schema->is_object()) return at.Error("expected a schema, which is an object");
  if (at.Find("$ref") != nullptr) return BuildReference(at, next);
  if (at.Find("enum") != nullptr || at.Find("const") != nullptr) return BuildValues(at, next);
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (at.Find(keyword) == nullptr) continue;
    ONWARD_RETURN_IF_ERROR(Only(at, keyword));
    return BuildBranches(at, keyword, next);
  }
  return BuildTyped(at, next);
}

absl::StatusOr<Node> SchemaCompiler::BuildTyped(const SchemaPlace& at, Node next) {
  for (const auto& [name, value] : at.schema->items())
    if (name != "type" && !IsAnnotation(name) && TypeOf(name).empty())
      return at.At(name).Error("is not supported");
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesOf(at));
  if (types.empty()) return grammar_.Value(next);
  std::vector<Node> ways;
  for (const std::string& type : types) {
    ONWARD_ASSIGN_OR_RETURN(const Node way, BuildType(at, type, next));
    ways.push_back(way);
  }
  return grammar_.builder().Choice(ways);
}

absl::StatusOr<Node> SchemaCompiler::BuildType(const SchemaPlace& at, const std::string& type,
                                               Node next) {
  if (type == "object") return BuildObject(at, next);
  if (type == "array") return BuildArray(at, next);
  if (type == "string") return BuildString(at, next);
  if (type == "boolean") return grammar_.Boolean(next);
  if (type == "null") return grammar_.Null(next);
  return BuildNumber(at, type == "integer", next);
}

absl::StatusOr<Node> SchemaCompiler::BuildValues(const SchemaPlace& at, Node next) {
  const char* keyword = at.Find("enum") != nullptr ? "enum" : "const";
  ONWARD_RETURN_IF_ERROR(Only(at, keyword, {"type"}));
  const Json& given = *at.Find(keyword);
  if (keyword[0] == 'e' && (!given.is_array() || given.empty()))
    return at.At(keyword).Error("expected an array of values");
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesOf(at));
  const auto fits = [&types](const Json& value) {
    return types.empty() ||
           absl::c_any_of(types, [&](const std::string& type) { return HasType(value, type); });
  };
  const Json all = keyword[0] == 'e' ? given : Json::array({given});
  std::vector<Json> values;
  std::copy_if(all.begin(), all.end(), std::back_inserter(values), fits);
  if (values.empty()) return at.At(keyword).Error("has no value of the type");
  return grammar_.OneOf(values, next);
}

namespace {

absl::Status CheckSize(const Json& schema, const std::string& path) {
  if (schema.dump(-1, ' ', false, Json::error_handler_t::replace).size() <= kMostBytes)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the schema has more than ", kMostBytes, " bytes"));
}

absl::StatusOr<Grammar> Finished(JsonGrammar& grammar, Node start, const std::string& path) {
  absl::StatusOr<Grammar> made = std::move(grammar.builder()).Finish(start);
  if (made.ok()) return made;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": ",
      absl::IsResourceExhausted(made.status())
          ? "the schema is too large"
          : "no value that the model's tokens can write is an instance of the schema"));
}

}  // namespace

absl::StatusOr<Grammar> JsonObjectGrammar(const TokenOrder& tokens) {
  JsonGrammar grammar(tokens.writable(), tokens.has_all_bytes());
  const Node start = grammar.Space(grammar.Object(Grammar::kEnd));
  return std::move(grammar.builder()).Finish(start);
}

absl::StatusOr<Grammar> JsonSchemaGrammar(const Json& schema, const TokenOrder& tokens,
                                          const std::string& path) {
  ONWARD_RETURN_IF_ERROR(CheckSize(schema, path));
  JsonGrammar grammar(tokens.writable(), tokens.has_all_bytes());
  ONWARD_ASSIGN_OR_RETURN(const Node value,
                          SchemaCompiler({&schema, path}, grammar).Compile(Grammar::kEnd));
  return Finished(grammar, grammar.Space(value), path);
}

absl::StatusOr<Grammar> SchemaSequenceGrammar(const SchemaSequence& sequence,
                                              const TokenOrder& tokens) {
  JsonGrammar grammar(tokens.writable(), tokens.has_all_bytes());
  GrammarBuilder& b = grammar.builder();
  std::vector<Node> ways;
  for (const FramedSchema& item : sequence.items) {
    ONWARD_RETURN_IF_ERROR(CheckSize(item.schema, item.path));
    SchemaCompiler compiler({&item.schema, item.path}, grammar);
    ONWARD_ASSIGN_OR_RETURN(const Node value,
                            compiler.Compile(b.Text(item.after, Grammar::kReturn)));
    ways.push_back(b.Text(item.before, value));
  }
  const int32_t item = b.Rule(b.Choice(ways));
  const int32_t another = b.Rule(b.Text(sequence.separator, b.Call(item, Grammar::kReturn)));
  const uint32_t more = sequence.most == kNoLimit ? kNoLimit : sequence.most - 1;
  const Node rest = b.Repeat(another, 0, more, b.Text(sequence.end, Grammar::kEnd));
  const Node start = b.Text(sequence.begin, b.Call(item, rest));
  return Finished(grammar, start, sequence.items.empty() ? "" : sequence.items[0].path);
}

}  // namespace onward::generation
