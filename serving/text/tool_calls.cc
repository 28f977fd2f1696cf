#include "serving/text/tool_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";
constexpr std::string_view kMarks[] = {"[TOOL_CALLS]", "<|python_tag|>"};
constexpr std::string_view kParameters = "\"parameters\":";  // Llama's name of arguments
constexpr std::string_view kSpaces = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// Bytes at the end of `text` that may belong to a call: what kBegin begins with, and spaces before
// it.
size_t HeldAtEnd(std::string_view text) {
  size_t count = std::min(text.size(), kBegin.size() - 1);
  while (count > 0 && text.substr(text.size() - count) != kBegin.substr(0, count)) --count;
  const std::string_view before = text.substr(0, text.size() - count);
  const size_t last = before.find_last_not_of(kSpaces);
  return text.size() - (last == before.npos ? 0 : last + 1);
}

// The place of the tag that ends a call; npos: it is not there yet. Strings may have the tag, too.
size_t EndOfCall(std::string_view text) {
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (text[i] == '\\' && in_string) ++i;
    if (!in_string && text.substr(i, kEnd.size()) == kEnd) return i;
  }
  return text.npos;
}

std::optional<ToolCall> CallOf(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  auto arguments = json.find("arguments");
  if (arguments == json.end()) arguments = json.find("parameters");
  if (arguments == json.end()) return std::nullopt;
  // Some models write them as a string of JSON.
  const std::string text = arguments->is_string()
                               ? arguments->get<std::string>()
                               : arguments->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (arguments->is_string() ? !Json::accept(text) : !arguments->is_object()) return std::nullopt;
  return ToolCall{json["name"].get<std::string>(), text};
}

// The calls of an object or an array; empty where one of them is not a call.
std::vector<ToolCall> CallsOf(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<ToolCall> calls;
  for (const Json& each : json.is_array() ? json : Json::array({json})) {
    std::optional<ToolCall> call = CallOf(each);
    if (!call) return {};
    calls.push_back(*std::move(call));
  }
  return calls;
}

// The text behind a mark of calls.
std::string_view WithoutMark(std::string_view text) {
  text = Trimmed(text);
  for (const std::string_view mark : kMarks)
    if (text.substr(0, mark.size()) == mark) return Trimmed(text.substr(mark.size()));
  return text;
}

// Returns whether a text that begins so may be calls as a whole.
bool MayBeCalls(std::string_view text) {
  text = Trimmed(text);
  if (text.empty() || text[0] == '{' || text[0] == '[') return true;
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view mark) {
    const size_t size = std::min(mark.size(), text.size());
    return mark.substr(0, size) == text.substr(0, size);
  });
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

ToolSyntax ToolSyntaxOf(std::string_view chat_template) {
  if (Has(chat_template, kBegin)) return ToolSyntax::kTags;
  const bool whole = Has(chat_template, "[TOOL_CALLS]") || Has(chat_template, "<|python_tag|>") ||
                     Has(chat_template, kParameters);
  return whole ? ToolSyntax::kWholeText : ToolSyntax::kNone;
}

CallForm CallFormOf(ToolSyntax syntax, std::string_view chat_template) {
  CallForm form = {.begin = "[",
                   .before_name = R"({"name": )",
                   .before_arguments = R"(, "arguments": )",
                   .after = "}",
                   .separator = ", ",
                   .end = "]"};
  if (syntax == ToolSyntax::kTags) {
    form.begin = form.end = "";
    form.before_name = absl::StrCat(std::string(kBegin), "\n", form.before_name);
    form.after = absl::StrCat(form.after, "\n", std::string(kEnd));
    form.separator = "\n";
  } else if (syntax == ToolSyntax::kWholeText && !Has(chat_template, kMarks[0])) {
    form.begin = form.end = "";
    form.several = false;
    if (Has(chat_template, kParameters)) form.before_arguments = R"(, "parameters": )";
  }
  return form;
}

ToolCallReader::Read ToolCallReader::Push(std::string_view piece) {
  Read read;
  if (syntax_ == ToolSyntax::kNone || is_text_) {
    read.text = piece;
    return read;
  }
  held_ += piece;
  if (syntax_ == ToolSyntax::kTags) {
    PushTags(read);
  } else if (!MayBeCalls(held_)) {
    is_text_ = true;
    read.text = std::exchange(held_, {});
  }
  return read;
}

void ToolCallReader::PushTags(Read& read) {
  while (true) {
    const size_t at = inside_ ? EndOfCall(held_) : held_.find(kBegin);
    if (at == held_.npos) break;
    if (inside_) {
      std::vector<ToolCall> calls = CallsOf(Trimmed(std::string_view(held_).substr(0, at)));
      if (calls.empty()) {
        read.text.append(kBegin).append(held_, 0, at + kEnd.size());
      } else {
        has_calls_ = true;
        std::move(calls.begin(), calls.end(), std::back_inserter(read.calls));
      }
      held_.erase(0, at + kEnd.size());
    } else {
      const std::string_view before = std::string_view(held_).substr(0, at);
      if (!Trimmed(before).empty())
        read.text.append(before.substr(0, before.find_last_not_of(kSpaces) + 1));
      held_.erase(0, at + kBegin.size());
    }
    inside_ = !inside_;
  }
  if (inside_) return;
  const size_t shown = held_.size() - HeldAtEnd(held_);
  read.text.append(held_, 0, shown);
  held_.erase(0, shown);
}

ToolCallReader::Read ToolCallReader::Finish() {
  Read read;
  std::string rest = std::exchange(held_, {});
  if (syntax_ == ToolSyntax::kWholeText && !is_text_) {
    read.calls = CallsOf(WithoutMark(rest));
    if (!read.calls.empty()) return read;
  }
  if (inside_) read.text.append(kBegin);
  const bool spaces_between = has_calls_ && !inside_ && Trimmed(rest).empty();
  if (!spaces_between) read.text += rest;
  return read;
}

}  // namespace onward::serving
