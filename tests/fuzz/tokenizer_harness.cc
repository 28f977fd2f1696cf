#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/tokenizer.h"
#include "files/utf8.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/harnesses.h"

namespace onward::fuzz {
namespace {

constexpr const char* kModels[] = {
    R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"abab":4},"merges":["a b",["ab","ab"]]})",
    R"({"type":"BPE","vocab":{"a":0,"##b":1,"ab":2,"u":3},"merges":["a ##b"],"unk_token":"u",
        "continuing_subword_prefix":"##","end_of_word_suffix":"</w>","fuse_unk":true})",
    R"({"type":"WordPiece","vocab":{"a":0,"##b":1,"##a":2,"u":3},"unk_token":"u"})",
    R"({"type":"WordLevel","vocab":{"a":0,"b":1,"u":7},"unk_token":"u"})",
    R"({"type":"Unigram","vocab":[["u",0],["a",-1],["ab",-1.5],["<0x62>",-2]],"unk_id":0,
        "byte_fallback":true})",
};
constexpr const char* kNormalizers[] = {
    "null",
    R"({"type":"NFKC"})",
    R"({"type":"NFD"})",
    R"({"type":"BertNormalizer"})",
    R"({"type":"Strip"})",
    R"({"type":"Replace","pattern":{"Regex":"(a|b)+c?"},"content":"aab"})",
    R"({"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"Prepend","prepend":"a"}]})",
};
constexpr const char* kPreTokenizers[] = {
    "null",
    R"({"type":"ByteLevel"})",
    R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first"})",
    R"({"type":"BertPreTokenizer"})",
    R"({"type":"Whitespace"})",
    R"({"type":"Split","pattern":{"Regex":"\\b|a*"},"behavior":"MergedWithNext","invert":true})",
    R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"Punctuation"}]})",
};
constexpr const char* kDecoders[] = {
    "null",
    R"({"type":"ByteLevel"})",
    R"({"type":"WordPiece","prefix":"##"})",
    R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"a"},"content":"b"},
        {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":"b","start":1,"stop":1}]})",
    R"({"type":"BPEDecoder"})",
};
constexpr char kAdded[] = R"([{"id":9,"content":"<s>","special":true,"lstrip":true,"rstrip":true},
    {"id":8,"content":"aa","single_word":true,"normalized":true}])";

// Pairs and completions, cut to a length.
void UseAsExample(const files::Tokenizer& tokenizer, std::string_view text) {
  size_t half = text.size() / 2;
  while (half > 0 && (static_cast<uint8_t>(text[half]) & 0xc0) == 0x80) --half;
  const std::string_view first = text.substr(0, half), second = text.substr(half);
  for (const size_t most : {size_t{2}, size_t{7}, size_t{1} << 20}) {
    for (const auto& other :
         {std::optional<std::string_view>(), std::optional<std::string_view>(second)}) {
      const auto made = tokenizer.EncodeUpTo(most, first, other, true);
      if (made.ok() && (made->ids.size() > most || made->types.size() != made->ids.size()))
        __builtin_trap();
    }
  }
  const auto completion = tokenizer.EncodeCompletion(first, second, true);
  if (completion.ok() && completion->prompt_tokens > completion->ids.size()) __builtin_trap();
}

// Text there and back, whole and piece by piece.
void Use(const files::Tokenizer& tokenizer, std::string_view text) {
  UseAsExample(tokenizer, text);
  const auto encoded = tokenizer.Encode(text, true);
  std::vector<int64_t> ids = encoded.value_or(std::vector<int64_t>());
  for (const char c : text.substr(0, 200)) ids.push_back(static_cast<uint8_t>(c) % 16);
  const auto whole = tokenizer.Decode(ids, false);
  if (whole.ok() && !files::IsUtf8(*whole)) __builtin_trap();
  if (ids.size() > 2000) ids.resize(2000);
  files::TextStream stream(tokenizer, true);
  for (const int64_t id : ids) {
    const auto piece = stream.Push(id);
    if (piece.ok() && !files::IsUtf8(*piece)) __builtin_trap();
  }
  (void)stream.Finish();
}

}  // namespace

void TokenizerBytes(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // The text begins behind a zero byte, which JSON does not have.
  const size_t end = bytes.find('\0');
  const auto made = files::Tokenizer::Parse(bytes.substr(0, end));
  if (made.ok())
    Use(*made, end == bytes.npos ? "ab a" : files::ReplaceMalformed(bytes.substr(end + 1)));
}

void SentencePieceBytes(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto made = files::Tokenizer::ParseSentencePiece(bytes);
  if (made.ok()) Use(*made, files::ReplaceMalformed(bytes.substr(0, 2000)));
}

void TokenizerText(const uint8_t* data, size_t size) {
  FuzzBytes bytes(data, size);
  const std::string file = absl::StrCat(
      R"({"normalizer":)", bytes.Pick(kNormalizers), R"(,"pre_tokenizer":)",
      bytes.Pick(kPreTokenizers), R"(,"decoder":)", bytes.Pick(kDecoders), R"(,"added_tokens":)",
      bytes.OneIn(2) ? kAdded : "[]", R"(,"model":)", bytes.Pick(kModels), "}");
  std::string text;
  while (!bytes.empty()) text += static_cast<char>(bytes.Byte());
  const auto made = files::Tokenizer::Parse(file);
  if (!made.ok()) __builtin_trap();  // all of these are good
  Use(*made, files::ReplaceMalformed(text));
}

}  // namespace onward::fuzz
