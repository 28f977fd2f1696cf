// Chat templates: from the messages of a conversation to the text that a model continues, in the
// subset of Jinja that published templates use, with what transformers' environment sets: blocks
// trimmed, break and continue, `generation`, tojson, raise_exception and strftime_now. Templates
// come from strangers, so work, depth and text are limited, and nothing outside can be reached.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace onward::chat_template {
struct Syntax;
}

namespace onward::files {

// Immutable, so thread-safe. Copies share what was read.
class ChatTemplate {
 public:
  // InvalidArgument names the line, and what is wrong or not supported.
  static absl::StatusOr<ChatTemplate> Parse(std::string_view source);
  // That of a tokenizer's directory: chat_template.jinja, else what its tokenizer_config.json has.
  // NotFound: it has none.
  static absl::StatusOr<ChatTemplate> Read(const std::string& directory);

  // `variables` is an object: messages, add_generation_prompt, tools, bos_token, ... `now` is what
  // strftime_now formats. InvalidArgument: the template raises an exception of its own ("...
  // refuses:
  // "), or cannot do this with these variables; the line is named. ResourceExhausted: more than 256
  // MiB of work or 32 MiB of text.
  absl::StatusOr<std::string> Render(const nlohmann::ordered_json& variables,
                                     absl::Time now = absl::Now()) const;
  const std::string& source() const { return *source_; }

 private:
  ChatTemplate(std::shared_ptr<const chat_template::Syntax> syntax,
               std::shared_ptr<const std::string> source)
      : syntax_(std::move(syntax)), source_(std::move(source)) {}

  std::shared_ptr<const chat_template::Syntax> syntax_;
  std::shared_ptr<const std::string> source_;
};

}  // namespace onward::files
