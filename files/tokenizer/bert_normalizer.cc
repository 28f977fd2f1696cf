#include "files/tokenizer/characters.h"
#include "files/tokenizer/normalizer.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

bool IsChinese(uint32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

class BertNormalizer : public Normalizer {
 public:
  bool clean = true, chinese = true, accents = true, lowercase = true;

  absl::StatusOr<std::string> Apply(std::string text, size_t) const override {
    if (clean) text = Cleaned(text);
    if (chinese) text = Spaced(text);
    if (accents) text = Without(Normalized(text, NormalForm::kNfd), IsNonspacingMark);
    if (lowercase) text = Lowercase(text);
    return text;
  }

 private:
  // Without control characters, all whitespace as ' '.
  static std::string Cleaned(std::string_view text) {
    std::string made;
    while (!text.empty()) {
      const uint32_t c = TakeCharacter(text);
      const bool blank = c == '\t' || c == '\n' || c == '\r';
      if (c == 0 || c == 0xfffd || (!blank && IsControl(c))) continue;
      AppendCharacter(IsWhitespace(c) ? ' ' : c, made);
    }
    return made;
  }
  // Chinese characters between spaces.
  static std::string Spaced(std::string_view text) {
    std::string made;
    while (!text.empty()) {
      const uint32_t c = TakeCharacter(text);
      if (IsChinese(c)) made += ' ';
      AppendCharacter(c, made);
      if (IsChinese(c)) made += ' ';
    }
    return made;
  }
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Normalizer>> ReadBertNormalizer(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(
      field.Only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}));
  auto made = std::make_shared<BertNormalizer>();
  ONWARD_ASSIGN_OR_RETURN(made->clean, field.Bool("clean_text", true));
  ONWARD_ASSIGN_OR_RETURN(made->chinese, field.Bool("handle_chinese_chars", true));
  ONWARD_ASSIGN_OR_RETURN(made->lowercase, field.Bool("lowercase", true));
  ONWARD_ASSIGN_OR_RETURN(made->accents, field.Bool("strip_accents", made->lowercase));
  return made;
}

}  // namespace onward::tokenizer
