// From a tokenizer.model of SentencePiece to the parts of a tokenizer. It decodes by the decoders
// of tokenizer.json.
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "files/tokenizer/read_json.h"
#include "files/tokenizer/sentence_piece_model.h"
#include "files/tokenizer/tokenizer.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

using nlohmann::json;
using tokenizer::JsonField;
using tokenizer::SentencePiece;
using tokenizer::SentencePieceFile;

constexpr char kSpace[] = "\xe2\x96\x81";  // U+2581, which stands for a space

absl::StatusOr<std::shared_ptr<const tokenizer::Decoder>> DecoderOf(const SentencePieceFile& file) {
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}};
  json decoders = {replace, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (file.add_dummy_prefix || file.remove_extra_whitespaces)
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1U}, {"stop", 0U}});
  const json sequence = {{"type", "Sequence"}, {"decoders", decoders}};
  return tokenizer::ReadDecoder(JsonField(sequence, "decoder"));
}

// Control symbols and the piece for what is unknown are not text.
bool IsSpecial(const SentencePieceFile& file, int64_t id) {
  const SentencePiece::Kind kind = file.pieces[static_cast<size_t>(id)].kind;
  return kind == SentencePiece::Kind::kControl || kind == SentencePiece::Kind::kUnknown;
}

// Special pieces, and what tokenizer_config.json adds.
absl::StatusOr<json> AddedTo(const SentencePieceFile& file, const JsonField& config) {
  json added = json::array();
  const auto count = static_cast<int64_t>(file.pieces.size());
  for (int64_t id = 0; id < count; ++id)
    if (IsSpecial(file, id))
      added.push_back({{"id", static_cast<uint64_t>(id)},
                       {"content", file.pieces[static_cast<size_t>(id)].text},
                       {"special", true},
                       {"normalized", false}});
  if (!config.Has("added_tokens_decoder")) return added;
  ONWARD_ASSIGN_OR_RETURN(const JsonField more, config.At("added_tokens_decoder"));
  if (!more.value().is_object()) return more.Error("must be an object");
  for (const auto& [name, token] : more.value().items()) {
    int64_t id = 0;
    if (!absl::SimpleAtoi(name, &id) || id < 0 || id > INT32_MAX || !token.is_object())
      return more.Error(absl::StrCat("'", PrintableUtf8(name), "' must be an id with its token"));
    if (id < count && IsSpecial(file, id)) continue;
    json one = token;
    one["id"] = static_cast<uint64_t>(id);
    one["normalized"] = false;  // it is found in the text as it comes
    added.push_back(std::move(one));
  }
  return added;
}

// Which tokens stand around a text, as transformers' classes have it where the file does not say.
absl::StatusOr<tokenizer::PostProcessor> ProcessorOf(const JsonField& config,
                                                     const TokenizerParts& parts) {
  ONWARD_ASSIGN_OR_RETURN(const std::string name, config.String("tokenizer_class", ""));
  const bool t5 = name.rfind("T5", 0) == 0;
  ONWARD_ASSIGN_OR_RETURN(const bool begin, config.Bool("add_bos_token", !t5));
  ONWARD_ASSIGN_OR_RETURN(const bool end, config.Bool("add_eos_token", t5));
  json tokens = json::object();
  if (begin && parts.bos) tokens["begin"] = {{"ids", {static_cast<uint64_t>(*parts.bos)}}};
  if (end && parts.eos) tokens["end"] = {{"ids", {static_cast<uint64_t>(*parts.eos)}}};
  const auto around = [&](const char* text, uint64_t type, json& made) {
    const auto add = [&](const char* kind, const char* id) {
      made.push_back({{kind, {{"id", id}, {"type_id", type}}}});
    };
    if (tokens.contains("begin")) add("SpecialToken", "begin");
    add("Sequence", text);
    if (tokens.contains("end")) add("SpecialToken", "end");
  };
  json single = json::array();
  around("A", 0, single);
  json pair = single;
  around("B", t5 ? 0u : 1u, pair);
  const json processor = {{"type", "TemplateProcessing"},
                          {"single", single},
                          {"pair", pair},
                          {"special_tokens", tokens}};
  return tokenizer::PostProcessor::Read(JsonField(processor, "post_processor"));
}

}  // namespace

absl::StatusOr<Tokenizer> Tokenizer::ParseSentencePiece(std::string_view model,
                                                        std::string_view config) {
  ONWARD_ASSIGN_OR_RETURN(SentencePieceFile file, tokenizer::ReadSentencePieceFile(model));
  ONWARD_ASSIGN_OR_RETURN(const json said, tokenizer::ReadConfig(config));
  const JsonField field(said, tokenizer::kConfigFile);
  auto parts = std::make_shared<TokenizerParts>();
  ONWARD_ASSIGN_OR_RETURN(parts->decoder, DecoderOf(file));
  ONWARD_ASSIGN_OR_RETURN(const json added, AddedTo(file, field));
  const std::string begin = file.bos, end = file.eos;
  parts->model = tokenizer::MakeSentencePieceModel(std::move(file));
  ONWARD_ASSIGN_OR_RETURN(parts->added,
                          tokenizer::AddedTokens::Read(JsonField(added, "added_tokens_decoder"),
                                                       parts->model->tokens(), nullptr));
  const Tokenizer made(parts);
  ONWARD_ASSIGN_OR_RETURN(const auto bos, tokenizer::NamedToken(field, "bos_token", made));
  ONWARD_ASSIGN_OR_RETURN(const auto eos, tokenizer::NamedToken(field, "eos_token", made));
  parts->bos = bos ? bos : made.IdOf(begin);
  parts->eos = eos ? eos : made.IdOf(end);
  // Published configurations name tokens here that no file defines.
  const auto pad = tokenizer::NamedToken(field, "pad_token", made);
  if (pad.ok()) parts->pad = *pad;
  ONWARD_ASSIGN_OR_RETURN(parts->post_processor, ProcessorOf(field, *parts));
  return made;
}

}  // namespace onward::files
