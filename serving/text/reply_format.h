// The forms of replies with text: OpenAI's completions and chat, Triton's generate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serving/text/choice.h"
#include "serving/text/text_task.h"
#include "serving/text/tool_calls.h"

namespace onward::serving {

// Facts that all parts of one reply state.
struct ReplyFacts {
  std::string id;
  std::string model, version;
  int64_t created = 0;  // seconds since 1970
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
};

struct WholeChoice {
  std::string text;
  std::vector<ScoredToken> tokens;
  bool has_scores = false;
  std::string finish_reason;
  std::vector<ToolCall> calls;
  size_t calls_before = 0;  // of earlier parts
};

struct ReplyFormat {
  const char* id_prefix;
  Json (*whole)(const ReplyFacts& facts, const std::vector<WholeChoice>& choices,
                const Usage& usage);
  // A stream's event that begins a choice; null: none does.
  Json (*first)(const ReplyFacts& facts, int index);
  // `part.finish_reason` is "" before the last one of the choice.
  Json (*part)(const ReplyFacts& facts, int index, const WholeChoice& part);
  Json (*usage)(const ReplyFacts& facts, const Usage& usage);  // null: not in streams
  const char* last;                                            // after all events; "": nothing
  bool openai_errors;                                          // else the protocol's
};

// OpenAI's reference of its API: the objects text_completion, chat.completion and their chunks.
extern const ReplyFormat kCompletionFormat, kChatFormat;
// The protocol's page, section 18.
extern const ReplyFormat kGenerateFormat;

}  // namespace onward::serving
