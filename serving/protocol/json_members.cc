#include "serving/protocol/json_members.h"

#include <new>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

constexpr size_t kMostDepth = 100;

thread_local simdjson::dom::parser kept_parser;

// NaN and the infinities, which are not JSON, become strings.
std::string QuoteNonFinite(std::string_view text) {
  std::string quoted;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      if (text[i] == '\\' && i + 1 < text.size()) quoted.push_back(text[i++]);
      in_string = text[i] != '"';
      quoted.push_back(text[i++]);
      continue;
    }
    std::string_view token;
    for (const std::string_view each : {"NaN", "Infinity", "-Infinity"})
      if (text.substr(i, each.size()) == each) token = each;
    if (!token.empty()) {
      absl::StrAppend(&quoted, "\"", std::string(token), "\"");
      i += token.size();
      continue;
    }
    in_string = text[i] == '"';
    quoted.push_back(text[i++]);
  }
  return quoted;
}

absl::Status Unexpected(JsonElement value, const std::string& where, std::string_view expected) {
  return Wrong(
      where, absl::StrCat("is ", std::string(KindOf(value)), ", expected ", std::string(expected)));
}

template <typename T>
absl::StatusOr<T> As(JsonElement value, const std::string& where, std::string_view expected) {
  T read;
  if (value.get(read) != simdjson::SUCCESS) return Unexpected(value, where, expected);
  return read;
}

}  // namespace

absl::Status Wrong(const std::string& where, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", std::string(what)));
}

std::string_view KindOf(JsonElement value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

absl::StatusOr<std::string> TextOf(JsonElement value, const std::string& where) {
  const absl::StatusOr<std::string_view> text = As<std::string_view>(value, where, "a string");
  if (!text.ok()) return text.status();
  return std::string(*text);
}

absl::StatusOr<bool> BoolOf(JsonElement value, const std::string& where) {
  return As<bool>(value, where, "true or false");
}

absl::StatusOr<uint64_t> CountOf(JsonElement value, const std::string& where) {
  uint64_t count = 0;
  if (value.get(count) == simdjson::SUCCESS) return count;
  if (value.is_number()) return Wrong(where, "is not a whole number of at least 0");
  return Unexpected(value, where, "a whole number");
}

absl::StatusOr<JsonArray> ArrayOf(JsonElement value, const std::string& where) {
  return As<JsonArray>(value, where, "an array");
}

absl::StatusOr<JsonObject> ObjectOf(JsonElement value, const std::string& where) {
  return As<JsonObject>(value, where, "an object");
}

absl::StatusOr<JsonElement> MemberOf(JsonObject object, const char* name,
                                     const std::string& where) {
  JsonElement value;
  if (object[name].get(value) != simdjson::SUCCESS)
    return Wrong(absl::StrCat(where, ".", name), "is missing");
  return value;
}

JsonParser::~JsonParser() {
  constexpr size_t kMostKept = 256 << 10;
  if (kept_parser.capacity() > kMostKept) kept_parser = simdjson::dom::parser();
}

simdjson::dom::parser& JsonParser::operator*() { return kept_parser; }

absl::StatusOr<JsonElement> ParseJson(simdjson::dom::parser& parser, std::string_view body) {
  if (body.empty()) return Wrong("the body", "is not JSON: it is empty");
  JsonElement document;
  // A parser that has memory keeps its depth.
  if (parser.capacity() == 0 && parser.allocate(body.size(), kMostDepth) != simdjson::SUCCESS)
    throw std::bad_alloc();
  auto error = parser.parse(body.data(), body.size()).get(document);
  if (error != simdjson::SUCCESS &&
      (body.find("NaN") != body.npos || body.find("Infinity") != body.npos)) {
    const std::string quoted = QuoteNonFinite(body);
    error = parser.parse(quoted.data(), quoted.size()).get(document);
  }
  if (error == simdjson::SUCCESS) return document;
  if (error == simdjson::DEPTH_ERROR)
    return Wrong("the body", absl::StrCat("is nested more than ", kMostDepth, " deep"));
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return Wrong("the body", absl::StrCat("is not JSON: ", simdjson::error_message(error)));
}

}  // namespace onward::serving
