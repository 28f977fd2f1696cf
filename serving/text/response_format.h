// The formats that requests want of texts: JSON, instances of a schema, calls of tools.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "files/tokenizer/tokenizer.h"
#include "generation/grammar/grammar_masks.h"
#include "generation/grammar/json_schema.h"

namespace onward::serving {

// The grammars of a model's last requests, with what was found out about them. Thread-safe.
class ResponseFormats {
 public:
  explicit ResponseFormats(files::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // Null where the format is text. InvalidArgument: "path: what", of what is wrong or not done.
  absl::StatusOr<std::shared_ptr<generation::GrammarMasks>> Find(
      const nlohmann::ordered_json& format);
  // The grammar of calls that must come. InvalidArgument: "path: what".
  absl::StatusOr<std::shared_ptr<generation::GrammarMasks>> FindCalls(
      const generation::SchemaSequence& calls);

 private:
  using Masks = std::shared_ptr<generation::GrammarMasks>;

  using MakeGrammar =
      absl::FunctionRef<absl::StatusOr<generation::Grammar>(const generation::TokenOrder& tokens)>;

  // The grammar of a key; `member`: of the request, for errors.
  absl::StatusOr<Masks> Kept(const std::string& key, const std::string& member, MakeGrammar make);
  absl::StatusOr<std::shared_ptr<const generation::TokenOrder>> Tokens(const std::string& member);

  const files::Tokenizer tokenizer_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const generation::TokenOrder> tokens_;
  std::list<std::pair<std::string, Masks>> known_;  // the last one used first
};

}  // namespace onward::serving
