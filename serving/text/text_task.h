// A client's request for text, whichever endpoint it came by.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/generation/generate.h"
#include "serving/text/text_model.h"
#include "serving/text/tool_calls.h"

namespace onward::serving {

using Json = nlohmann::ordered_json;

struct TextTask {
  std::vector<std::vector<int64_t>> prompts;
  int choices = 1;  // of each prompt
  generation::GenerateOptions options;
  std::vector<std::string> stops;
  bool log_probabilities = false;
  int top = 0;  // log probabilities of so many tokens at each place
  bool echo = false;
  std::vector<std::string> prompt_texts;  // for `echo`
  bool stream = false;
  bool include_usage = false;  // at a stream's end
  // The grammar of response_format, or of the calls that tool_choice wants; null: any text.
  std::shared_ptr<generation::GrammarMasks> grammar;
  ToolSyntax tools = ToolSyntax::kNone;  // of calls that the text may have
};

// A body as JSON. InvalidArgument: it is not an object, or is nested too deeply.
absl::StatusOr<Json> ReadBody(std::string_view body);

// OpenAI's completions and chat. InvalidArgument: "member: what is wrong", of members that are
// wrong, unknown, or ask for unsupported things. FailedPrecondition: the model does not
// generate, or has no chat template.
absl::StatusOr<TextTask> ReadCompletion(const Json& body, const TextModel& model);
absl::StatusOr<TextTask> ReadChat(const Json& body, const TextModel& model);
// Triton's generate and generate_stream: {"text_input": ..., "parameters": {...}}; members beside
// count as parameters. See the protocol's page, section 18.
absl::StatusOr<TextTask> ReadGenerate(const Json& body, const TextModel& model);

}  // namespace onward::serving
