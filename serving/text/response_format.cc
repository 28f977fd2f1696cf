#include "serving/text/response_format.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

using Json = nlohmann::ordered_json;
using generation::Grammar;

constexpr size_t kMostKnown = 8;
constexpr char kPath[] = "response_format";

absl::Status Wrong(std::string_view path, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(path), ": ", std::string(what)));
}

std::string Written(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status Only(const Json& object, const std::string& path,
                  std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : object.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Wrong(absl::StrCat(path, ".", files::PrintableUtf8(name)), "is not a member of this");
  return absl::OkStatus();
}

absl::StatusOr<std::string> TypeOf(const Json& format) {
  const auto type = format.is_object() ? format.find("type") : format.end();
  if (type != format.end() && type->is_string())
    for (const char* known : {"text", "json_object", "json_schema"})
      if (*type == known) return std::string(known);
  return Wrong(kPath, "expected a type of text, json_object or json_schema");
}

absl::StatusOr<Grammar> SchemaGrammar(const Json& format, const generation::TokenOrder& tokens) {
  const std::string path = absl::StrCat(kPath, ".json_schema");
  ONWARD_RETURN_IF_ERROR(Only(format, kPath, {"type", "json_schema"}));
  const auto said = format.find("json_schema");
  if (said == format.end() || !said->is_object())
    return Wrong(path, "expected an object with name and schema");
  ONWARD_RETURN_IF_ERROR(Only(*said, path, {"name", "description", "strict", "schema"}));
  const auto schema = said->find("schema");
  if (schema == said->end()) return Wrong(path + ".schema", "is missing");
  return generation::JsonSchemaGrammar(*schema, tokens, path + ".schema");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const generation::TokenOrder>> ResponseFormats::Tokens(
    const std::string& member) {
  const std::lock_guard lock(mutex_);
  if (tokens_ != nullptr) return tokens_;
  const absl::StatusOr<files::Tokenizer::TokenBytes> bytes = tokenizer_.Bytes();
  if (!bytes.ok())
    return Wrong(member, absl::StrCat("JSON is not supported for this model: ",
                                      std::string(bytes.status().message())));
  tokens_ = std::make_shared<const generation::TokenOrder>(bytes->bytes, bytes->not_first);
  return tokens_;
}

absl::StatusOr<ResponseFormats::Masks> ResponseFormats::Kept(const std::string& key,
                                                             const std::string& member,
                                                             MakeGrammar make) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& each) { return each.first == key; });
    if (found != known_.end()) {
      known_.splice(known_.begin(), known_, found);
      return found->second;
    }
  }
  ONWARD_ASSIGN_OR_RETURN(const auto tokens, Tokens(member));
  ONWARD_ASSIGN_OR_RETURN(Grammar grammar, make(*tokens));
  auto masks = std::make_shared<generation::GrammarMasks>(std::move(grammar), tokens);
  const std::lock_guard lock(mutex_);
  known_.emplace_front(key, masks);
  if (known_.size() > kMostKnown) known_.pop_back();
  return masks;
}

absl::StatusOr<std::shared_ptr<generation::GrammarMasks>> ResponseFormats::Find(
    const Json& format) {
  ONWARD_ASSIGN_OR_RETURN(const std::string type, TypeOf(format));
  if (type == "text") return nullptr;
  const auto make = [&](const generation::TokenOrder& tokens) -> absl::StatusOr<Grammar> {
    if (type == "json_schema") return SchemaGrammar(format, tokens);
    absl::StatusOr<Grammar> object = generation::JsonObjectGrammar(tokens);
    if (object.ok()) return object;
    return Wrong(kPath, "the model's tokens cannot write an object of JSON");
  };
  return Kept(Written(format), kPath, make);
}

absl::StatusOr<std::shared_ptr<generation::GrammarMasks>> ResponseFormats::FindCalls(
    const generation::SchemaSequence& calls) {
  Json key = {calls.begin, calls.separator, calls.end, calls.most};
  for (const generation::FramedSchema& item : calls.items)
    key.push_back({item.before, item.schema, item.path, item.after});
  return Kept(Written(key), "tool_choice", [&](const generation::TokenOrder& tokens) {
    return generation::SchemaSequenceGrammar(calls, tokens);
  });
}

}  // namespace onward::serving
