// The texts of records as tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/chat_template/chat_template.h"
#include "files/tokenizer/tokenizer.h"
#include "nlohmann/json_fwd.hpp"
#include "onward/dataset.h"

namespace onward::training {

// Immutable, so thread-safe.
class RecordTokens {
 public:
  // InvalidArgument: no column or more than two, a length that is not positive, no field is wanted;
  // or the tokenizer's file is wrong.
  static absl::StatusOr<RecordTokens> Make(const TokensField& config, const std::string& directory);

  const std::vector<Field>& fields() const { return fields_; }
  // Names of one or two columns or members.
  const std::vector<std::string>& columns() const { return columns_; }
  // Adds a tensor for each of fields(). `texts`: one for each of columns().
  absl::Status Append(const std::vector<std::string_view>& texts,
                      std::vector<Tensor>& example) const;
  // Returns whether the column has messages, for AppendChat, in place of texts.
  bool is_chat() const { return chat_.has_value(); }
  // The name of the member with the tools of a conversation; "": there is none.
  const std::string& tools() const { return tools_; }
  // `tools`: an array, or a string of JSON with one; null: the conversation has none.
  absl::Status AppendChat(const nlohmann::ordered_json& messages,
                          const nlohmann::ordered_json* tools, std::vector<Tensor>& example) const;

 private:
  explicit RecordTokens(files::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  void AddFields(const TokensField& config);
  // Labels of the first `ignored` tokens count for nothing.
  absl::Status AppendNext(std::vector<int64_t> ids, size_t ignored,
                          std::vector<Tensor>& example) const;
  // Adds ids, mask and types, those of them that are fields.
  absl::Status AddEncoding(const files::Encoding& encoding, std::vector<Tensor>& example) const;
  absl::Status Add(const std::vector<int64_t>& values, int64_t pad,
                   std::vector<Tensor>& example) const;

  files::Tokenizer tokenizer_;
  std::optional<files::ChatTemplate> chat_;
  std::vector<std::string> columns_;
  std::string tools_;
  std::vector<Field> fields_;
  size_t most_ = 0;
  bool special_ = true, fixed_ = false;
  bool ids_ = false, mask_ = false, types_ = false, next_ = false;  // which fields there are
  int64_t pad_ = 0;                                                 // of ids
};

}  // namespace onward::training
