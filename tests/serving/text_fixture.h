// A model of text whose continuations are known without it: each letter is followed by the next one
// of kLetters, the last one by the token that ends a text.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "files/tokenizer/tokenizer.h"
#include "onward/generation/batch_generator.h"
#include "serving/text/text_model.h"
#include "tests/support/text_model.h"

namespace onward::serving {

// As HF's byte-level alphabet writes them: the two before the last three are the bytes of "é".
inline const std::vector<std::string>& Letters() {
  static const std::vector<std::string> letters = {
      "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
      "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "Ã", "©", ".", "!", "?"};
  return letters;
}
inline constexpr int64_t kEndToken = 0;  // letters are tokens from 1 on

inline std::string LettersTokenizerJson() {
  nlohmann::json vocabulary = {{"<end>", kEndToken}};
  for (size_t i = 0; i < Letters().size(); ++i) vocabulary[Letters()[i]] = i + 1;
  const nlohmann::json file = {
      {"added_tokens",
       {{{"id", kEndToken},
         {"content", "<end>"},
         {"single_word", false},
         {"lstrip", false},
         {"rstrip", false},
         {"normalized", false},
         {"special", true}}}},
      {"pre_tokenizer",
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", false},
        {"use_regex", false}}},
      {"decoder",
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", false},
        {"use_regex", false}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
  return file.dump();
}

inline files::Tokenizer LettersTokenizer() {
  auto tokenizer = files::Tokenizer::Parse(LettersTokenizerJson());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

// The next letter has the score 4, all else 0; after the last letter, the end has.
inline Model LettersModel() {
  const size_t tokens = Letters().size() + 1;
  auto model = testing::ModelFromText(
      absl::StrCat("g (int64[n, t] input_ids) => (float[n, t, ", tokens, "] logits) {",
                   " one = Constant <value_int = 1> () count = Constant <value_int = ", tokens,
                   "> ()", " values = Constant <value_floats = [0.0, 4.0]> ()",
                   " more = Add (input_ids, one) next = Mod (more, count)",
                   " logits = OneHot (next, count, values) }"));
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

inline std::shared_ptr<TextModel> LettersTextModel(
    TextFacts facts = {}, int64_t rows = 4, files::Tokenizer tokenizer = LettersTokenizer()) {
  if (facts.stop_tokens.empty()) facts.stop_tokens = {kEndToken};
  generation::BatchGeneratorOptions options;
  options.context = facts.context;
  options.rows = rows;
  auto generator = generation::BatchGenerator::Create(LettersModel(), {.num_threads = 1}, options);
  EXPECT_TRUE(generator.ok()) << generator.status();
  return std::make_shared<TextModel>(std::move(tokenizer), std::move(facts), *std::move(generator));
}

}  // namespace onward::serving
