// The response_format of requests: texts that are JSON, or instances of a schema.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "files/tokenizer/tokenizer.h"
#include "generation/grammar/grammar_masks.h"

namespace onward::serving {

// The grammars of a model's last requests, with what was found out about them. Thread-safe.
class ResponseFormats {
 public:
  explicit ResponseFormats(files::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // Null where the format is text. InvalidArgument: "path: what", of what is wrong or not done.
  absl::StatusOr<std::shared_ptr<generation::GrammarMasks>> Find(
      const nlohmann::ordered_json& format);

 private:
  using Masks = std::shared_ptr<generation::GrammarMasks>;

  absl::StatusOr<std::shared_ptr<const generation::TokenOrder>> Tokens();

  const files::Tokenizer tokenizer_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const generation::TokenOrder> tokens_;
  std::list<std::pair<std::string, Masks>> known_;  // the last one used first
};

}  // namespace onward::serving
