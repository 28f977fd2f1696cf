// Members of requests' JSON, with errors that name them: "inputs[0].shape: is missing".
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "simdjson.h"

namespace onward::serving {

using JsonElement = simdjson::dom::element;
using JsonArray = simdjson::dom::array;
using JsonObject = simdjson::dom::object;

// InvalidArgument: "where: what".
absl::Status Wrong(const std::string& where, std::string_view what);

std::string_view KindOf(JsonElement value);  // "an array", "a number", ...

absl::StatusOr<std::string> TextOf(JsonElement value, const std::string& where);
absl::StatusOr<bool> BoolOf(JsonElement value, const std::string& where);
absl::StatusOr<uint64_t> CountOf(JsonElement value, const std::string& where);
absl::StatusOr<JsonArray> ArrayOf(JsonElement value, const std::string& where);
absl::StatusOr<JsonObject> ObjectOf(JsonElement value, const std::string& where);
absl::StatusOr<JsonElement> MemberOf(JsonObject object, const char* name, const std::string& where);

// The parser of this thread, whose memory is kept where it is small. One at a time.
class JsonParser {
 public:
  JsonParser() = default;
  ~JsonParser();
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;
  simdjson::dom::parser& operator*();
};

// The body as JSON that may have NaN, Infinity and -Infinity outside strings; they become strings.
// `parser` owns the result. InvalidArgument: it is not JSON, or is nested more than 100 deep.
absl::StatusOr<JsonElement> ParseJson(simdjson::dom::parser& parser, std::string_view body);

}  // namespace onward::serving
