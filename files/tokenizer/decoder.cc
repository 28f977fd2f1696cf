#include "files/tokenizer/decoder.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "files/tokenizer/byte_alphabet.h"
#include "files/tokenizer/characters.h"
#include "files/tokenizer/metaspace.h"
#include "files/tokenizer/pattern.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

using Made = absl::StatusOr<std::shared_ptr<const Decoder>>;

class Function : public Decoder {
 public:
  using Body = std::function<absl::Status(Texts&, const DecodeOptions&)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  absl::Status Apply(Texts& texts, const DecodeOptions& options) const override {
    return body_(texts, options);
  }

 private:
  Body body_;
};

Made Make(Function::Body body) { return std::make_shared<Function>(std::move(body)); }

absl::Status DecodeByteLevel(Texts& texts, const DecodeOptions& options) {
  std::string bytes;
  for (const std::string& text : texts) bytes += FromByteAlphabet(text);
  texts = {options.raw ? std::move(bytes) : files::ReplaceMalformed(bytes)};
  return absl::OkStatus();
}

// The byte of "<0x41>"; -1: another text.
int ByteOf(const std::string& text) {
  if (text.size() != 6 || text.rfind("<0x", 0) != 0 || text[5] != '>') return -1;
  int byte = 0;
  for (const char c : {text[3], text[4]}) {
    if (std::isxdigit(static_cast<uint8_t>(c)) == 0) return -1;
    byte = byte * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return byte;
}

// Neighbouring bytes that are not UTF-8 together become as many U+FFFD.
absl::Status DecodeByteFallback(Texts& texts, const DecodeOptions& options) {
  Texts made;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (options.raw || files::IsUtf8(bytes)) {
      made.push_back(bytes);
    } else {
      made.insert(made.end(), bytes.size(), "\xef\xbf\xbd");
    }
    bytes.clear();
  };
  for (std::string& text : texts) {
    const int byte = ByteOf(text);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
    } else {
      flush();
      made.push_back(std::move(text));
    }
  }
  flush();
  texts = std::move(made);
  return absl::OkStatus();
}

// Spaces that English does not have before what follows.
std::string Cleaned(const std::string& text) {
  static constexpr std::pair<const char*, const char*> kRows[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  std::string made = text;
  for (const auto& [from, to] : kRows) made = absl::StrReplaceAll(made, {{from, to}});
  return made;
}

Made ReadWordPieceDecoder(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "prefix", "cleanup"}));
  ONWARD_ASSIGN_OR_RETURN(const std::string prefix, field.String("prefix", "##"));
  ONWARD_ASSIGN_OR_RETURN(const bool cleanup, field.Bool("cleanup", true));
  return Make([=](Texts& texts, const DecodeOptions&) {
    for (size_t i = 0; i < texts.size(); ++i) {
      std::string& text = texts[i];
      if (i > 0 && text.rfind(prefix, 0) == 0) {
        text.erase(0, prefix.size());
      } else if (i > 0) {
        text.insert(size_t{0}, 1, ' ');
      }
      if (cleanup) text = Cleaned(text);
    }
    return absl::OkStatus();
  });
}

Made ReadMetaspaceDecoder(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const Metaspace metaspace, Metaspace::Read(field));
  return Make([=](Texts& texts, const DecodeOptions&) {
    const bool drop = metaspace.prepend != Metaspace::Prepend::kNever;
    for (size_t i = 0; i < texts.size(); ++i)
      texts[i] =
          absl::StrReplaceAll(texts[i], {{metaspace.replacement, i == 0 && drop ? "" : " "}});
    return absl::OkStatus();
  });
}

Made ReadBpeDecoder(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "suffix"}));
  ONWARD_ASSIGN_OR_RETURN(const std::string suffix, field.String("suffix", "</w>"));
  return Make([=](Texts& texts, const DecodeOptions&) {
    if (suffix.empty()) return absl::OkStatus();
    for (size_t i = 0; i < texts.size(); ++i)
      texts[i] = absl::StrReplaceAll(texts[i], {{suffix, i + 1 == texts.size() ? "" : " "}});
    return absl::OkStatus();
  });
}

// At most `start` of the character at the front and `stop` at the end of each text.
Made ReadStripDecoder(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "content", "start", "stop"}));
  ONWARD_ASSIGN_OR_RETURN(const std::string content, field.String("content"));
  ONWARD_ASSIGN_OR_RETURN(const int64_t start, field.Integer("start"));
  ONWARD_ASSIGN_OR_RETURN(const int64_t stop, field.Integer("stop"));
  if (CountCharacters(content) != 1)
    return absl::InvalidArgumentError(
        absl::StrCat(field.path(), ".content: must be one character"));
  return Make([=](Texts& texts, const DecodeOptions&) {
    for (std::string& text : texts) {
      const size_t size = content.size();
      size_t begin = 0, end = text.size();
      for (int64_t i = 0; i < start && text.compare(begin, size, content) == 0; ++i) begin += size;
      for (int64_t i = 0;
           i < stop && end >= begin + size && text.compare(end - size, size, content) == 0; ++i)
        end -= size;
      text = text.substr(begin, end - begin);
    }
    return absl::OkStatus();
  });
}

Made ReadReplaceDecoder(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "pattern", "content"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField pattern_field, field.At("pattern"));
  ONWARD_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::Read(pattern_field));
  ONWARD_ASSIGN_OR_RETURN(const std::string content, field.String("content"));
  return Make([=](Texts& texts, const DecodeOptions& options) -> absl::Status {
    for (std::string& text : texts) {
      if (options.raw && pattern.is_regex()) text = files::ReplaceMalformed(text);
      ONWARD_ASSIGN_OR_RETURN(text, pattern.Replace(text, content, options.most));
    }
    return absl::OkStatus();
  });
}

Made ReadDecoderSequence(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "decoders"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items("decoders"));
  std::vector<std::shared_ptr<const Decoder>> steps;
  for (const JsonField& item : items) {
    ONWARD_ASSIGN_OR_RETURN(auto step, ReadDecoder(item));
    steps.push_back(std::move(step));
  }
  return Make([=](Texts& texts, const DecodeOptions& options) {
    for (const auto& step : steps) {
      ONWARD_RETURN_IF_ERROR(step->Apply(texts, options));
      size_t bytes = 0;
      for (const std::string& text : texts) bytes += text.size();
      ONWARD_RETURN_IF_ERROR(CheckGrowth(bytes, options.most));
    }
    return absl::OkStatus();
  });
}

}  // namespace

Made ReadDecoder(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const std::string type, field.String("type"));
  if (type == "Sequence") return ReadDecoderSequence(field);
  if (type == "WordPiece") return ReadWordPieceDecoder(field);
  if (type == "Metaspace") return ReadMetaspaceDecoder(field);
  if (type == "BPEDecoder") return ReadBpeDecoder(field);
  if (type == "Strip") return ReadStripDecoder(field);
  if (type == "Replace") return ReadReplaceDecoder(field);
  if (type == "ByteLevel") {
    ONWARD_RETURN_IF_ERROR(field.Only({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    return Make(DecodeByteLevel);
  }
  if (type == "ByteFallback" || type == "Fuse") {
    ONWARD_RETURN_IF_ERROR(field.Only({"type"}));
    if (type == "ByteFallback") return Make(DecodeByteFallback);
    return Make([](Texts& texts, const DecodeOptions&) {
      texts = {absl::StrJoin(texts, "")};
      return absl::OkStatus();
    });
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field.path(), ".type: '", files::PrintableUtf8(type), "' is not supported"));
}

}  // namespace onward::tokenizer
