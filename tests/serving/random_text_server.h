// A server with a model whose scores follow no rule, and a vocabulary that can write any JSON.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serving/text_server.h"

namespace onward::serving {

// The 256 bytes as HF's byte-level alphabet writes them, and pieces of JSON.
inline std::string JsonTokenizer(int64_t& size) {
  nlohmann::json vocabulary;
  std::vector<std::string> letters(256);
  for (int byte = 0, next = 256; byte < 256; ++byte) {
    const bool plain = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    const int c = plain ? byte : next++;
    letters[static_cast<size_t>(byte)] =
        c < 0x80
            ? std::string(1, static_cast<char>(c))
            : std::string({static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))});
    vocabulary[letters[static_cast<size_t>(byte)]] = byte;
  }
  size = 256;
  for (const char* piece : {"{\"", "\":", "\",Ġ\"", "\"}", "true", "null", "Ġthe", "[[", "]}"})
    vocabulary[piece] = size++;
  vocabulary["<end>"] = size;
  const nlohmann::json end = {{"id", size++},    {"content", "<end>"}, {"single_word", false},
                              {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                              {"special", true}};
  const nlohmann::json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  return nlohmann::json(
             {{"added_tokens", {end}},
              {"pre_tokenizer", level},
              {"decoder", level},
              {"model",
               {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}})
      .dump();
}

class RandomTextServerTest : public TextServerTest {
 protected:
  // Scores that follow no rule: 8 sin(12.9898 (token + 1) (last token + 3)).
  void StartRandom(
      const std::string& chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}") {
    int64_t size = 0;
    auto tokenizer = files::Tokenizer::Parse(JsonTokenizer(size));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    auto model = onward::testing::ModelFromText(
        absl::StrCat("g (int64[n, t] input_ids) => (float[n, t, ", size, "] logits) {",
                     " three = Constant <value_int = 3> () more = Add (input_ids, three)",
                     " last = Constant <value_ints = [-1]> () wide = Unsqueeze (more, last)",
                     " least = Constant <value_int = 1> () most = Constant <value_int = ", size + 1,
                     "> ()", " tokens = Range (least, most, least) product = Mul (wide, tokens)",
                     " real = Cast <to = 1> (product) much = Constant <value_float = 12.9898> ()",
                     " angle = Mul (real, much) wave = Sin (angle)",
                     " eight = Constant <value_float = 8.0> () logits = Mul (wave, eight) }"));
    ASSERT_TRUE(model.ok()) << model.status();
    TextFacts facts;
    facts.stop_tokens = {size - 1};
    facts.chat_template = files::ChatTemplate::Parse(chat_template);
    ASSERT_TRUE(facts.chat_template.ok()) << facts.chat_template.status();
    auto generator = generation::BatchGenerator::Create(*std::move(model), {.num_threads = 1}, {});
    ASSERT_TRUE(generator.ok()) << generator.status();
    text_ =
        std::make_shared<TextModel>(*std::move(tokenizer), std::move(facts), *std::move(generator));
    auto served = ServedModel::Create("letters", std::shared_ptr<Session>(text_, text_->session()),
                                      {.text = text_});
    ASSERT_TRUE(served.ok()) << served.status();
    Serve({*served});
  }
};

}  // namespace onward::serving
