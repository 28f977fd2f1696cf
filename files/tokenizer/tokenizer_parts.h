// The parts of a Tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/tokenizer/added_tokens.h"
#include "files/tokenizer/decoder.h"
#include "files/tokenizer/model.h"
#include "files/tokenizer/normalizer.h"
#include "files/tokenizer/post_processor.h"
#include "files/tokenizer/pre_tokenizer.h"

namespace onward::files {

struct TokenizerParts {
  std::shared_ptr<const tokenizer::Normalizer> normalizer;  // this and the next may be null
  std::shared_ptr<const tokenizer::PreTokenizer> pre_tokenizer;
  std::shared_ptr<const tokenizer::Decoder> decoder;  // null: texts are joined by spaces
  std::shared_ptr<const tokenizer::Model> model;
  tokenizer::AddedTokens added;
  tokenizer::PostProcessor post_processor;
  std::optional<int64_t> bos, eos, pad;

  // Normalized text between added tokens; `first`: the whole text begins with it.
  absl::Status EncodeSpan(std::string_view text, bool first, size_t most,
                          std::vector<int64_t>& ids) const;
  // nullptr: no token has this id.
  const std::string* Text(int64_t id) const {
    const std::string* added_text = added.Text(id);
    return added_text != nullptr ? added_text : model->tokens().Text(id);
  }
};

}  // namespace onward::files
