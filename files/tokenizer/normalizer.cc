#include "files/tokenizer/normalizer.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/byte_alphabet.h"
#include "files/tokenizer/characters.h"
#include "files/tokenizer/pattern.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

using Made = absl::StatusOr<std::shared_ptr<const Normalizer>>;

class Function : public Normalizer {
 public:
  using Body = std::function<absl::StatusOr<std::string>(std::string, size_t)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  absl::StatusOr<std::string> Apply(std::string text, size_t most) const override {
    return body_(std::move(text), most);
  }

 private:
  Body body_;
};

Made Make(Function::Body body) { return std::make_shared<Function>(std::move(body)); }

bool DroppedByNmt(uint32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
         c == 0x8f || c == 0x9f;
}

bool SpaceOfNmt(uint32_t c) {
  return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
         (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
         c == 0xfffd;
}

// The cleaning of the NMT systems that SentencePiece was made for.
std::string Nmt(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const uint32_t c = TakeCharacter(text);
    if (!DroppedByNmt(c)) AppendCharacter(SpaceOfNmt(c) ? ' ' : c, made);
  }
  return made;
}

std::string Strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    std::string_view rest = text;
    if (!IsWhitespace(TakeCharacter(rest))) break;
    text = rest;
  }
  while (right && !text.empty()) {
    const size_t begin = LastCharacter(text, text.size());
    std::string_view last = text.substr(begin);
    if (!IsWhitespace(TakeCharacter(last))) break;
    text = text.substr(0, begin);
  }
  return std::string(text);
}

Made ReadStrip(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "strip_left", "strip_right"}));
  ONWARD_ASSIGN_OR_RETURN(const bool left, field.Bool("strip_left", true));
  ONWARD_ASSIGN_OR_RETURN(const bool right, field.Bool("strip_right", true));
  return Make([=](const std::string& text, size_t) { return Strip(text, left, right); });
}

Made ReadReplace(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "pattern", "content"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField pattern_field, field.At("pattern"));
  ONWARD_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::Read(pattern_field));
  ONWARD_ASSIGN_OR_RETURN(const std::string content, field.String("content"));
  return Make(
      [=](const std::string& text, size_t most) { return pattern.Replace(text, content, most); });
}

Made ReadPrepend(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "prepend"}));
  ONWARD_ASSIGN_OR_RETURN(const std::string prepend, field.String("prepend"));
  return Make(
      [=](const std::string& text, size_t) { return text.empty() ? text : prepend + text; });
}

Made ReadSequence(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "normalizers"}));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, field.Items("normalizers"));
  std::vector<std::shared_ptr<const Normalizer>> steps;
  for (const JsonField& item : items) {
    ONWARD_ASSIGN_OR_RETURN(auto step, ReadNormalizer(item));
    steps.push_back(std::move(step));
  }
  return Make([=](std::string text, size_t most) -> absl::StatusOr<std::string> {
    for (const auto& step : steps) {
      ONWARD_ASSIGN_OR_RETURN(text, step->Apply(std::move(text), most));
      ONWARD_RETURN_IF_ERROR(CheckGrowth(text.size(), most));
    }
    return text;
  });
}

Made WithoutMembers(const JsonField& field, const std::function<std::string(std::string_view)>& f) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type"}));
  return Make([=](const std::string& text, size_t) { return f(text); });
}

Made ReadForm(const JsonField& field, NormalForm form) {
  return WithoutMembers(field, [=](std::string_view text) { return Normalized(text, form); });
}

}  // namespace

Made ReadNormalizer(const JsonField& field) {
  ONWARD_ASSIGN_OR_RETURN(const std::string type, field.String("type"));
  if (type == "Sequence") return ReadSequence(field);
  if (type == "NFC") return ReadForm(field, NormalForm::kNfc);
  if (type == "NFD") return ReadForm(field, NormalForm::kNfd);
  if (type == "NFKC") return ReadForm(field, NormalForm::kNfkc);
  if (type == "NFKD") return ReadForm(field, NormalForm::kNfkd);
  if (type == "Lowercase") return WithoutMembers(field, Lowercase);
  if (type == "StripAccents") {
    return WithoutMembers(field, [](std::string_view text) { return Without(text, IsMark); });
  }
  if (type == "Nmt") return WithoutMembers(field, Nmt);
  if (type == "ByteLevel") return WithoutMembers(field, ToByteAlphabet);
  if (type == "Strip") return ReadStrip(field);
  if (type == "Replace") return ReadReplace(field);
  if (type == "Prepend") return ReadPrepend(field);
  if (type == "BertNormalizer") return ReadBertNormalizer(field);
  if (type == "Precompiled") return ReadPrecompiled(field);
  return absl::InvalidArgumentError(
      absl::StrCat(field.path(), ".type: '", files::PrintableUtf8(type), "' is not supported"));
}

}  // namespace onward::tokenizer
