// Calls of tools in the texts of chat models, which write them as they were trained to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::serving {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON
};

// The form in which a model writes calls.
enum class ToolSyntax : uint8_t {
  kNone,  // not known: calls stay text
  // <tool_call>{"name": ..., "arguments": {...}}</tool_call>, as Hermes and Qwen have it.
  kTags,
  // The whole text is a call or an array of calls, perhaps behind [TOOL_CALLS] or <|python_tag|>,
  // with "arguments" (Mistral) or "parameters" (Llama 3).
  kWholeText,
};

// The form that the source of a chat template shows.
ToolSyntax ToolSyntaxOf(std::string_view chat_template);

// The texts around the name and the arguments of a call, and around several calls.
struct CallForm {
  std::string begin, before_name, before_arguments, after, separator, end;
  bool several = true;  // false: a text is at most one call
};

// The form in which a template of this syntax shows calls; kNone: an array of JSON.
CallForm CallFormOf(ToolSyntax syntax, std::string_view chat_template);

// Takes calls out of a text that comes in pieces. What looks like a call and is none stays text.
class ToolCallReader {
 public:
  explicit ToolCallReader(ToolSyntax syntax) : syntax_(syntax) {}

  struct Read {
    std::string text;  // to show now
    std::vector<ToolCall> calls;
  };
  Read Push(std::string_view piece);
  Read Finish();  // the text has ended

 private:
  void PushTags(Read& read);

  ToolSyntax syntax_;
  std::string held_;
  bool inside_ = false;   // of tags
  bool is_text_ = false;  // kWholeText: it begins as no call does
  bool has_calls_ = false;
};

}  // namespace onward::serving
