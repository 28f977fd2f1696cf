#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/field_names.h"
#include "training/config/field_places.h"
#include "training/config/ignored_errors.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;
using proto::io::Tokenizer;

constexpr int kDeepest = 100;

// Recursive descent over the text format. `ended_`: the text ended, or is not of the format.
class Scanner {
 public:
  Scanner(const std::string& file, Tokenizer& tokenizer, FieldPlaces& places)
      : file_(file), tokenizer_(tokenizer), places_(places) {
    Next();
  }

  // Fields up to `end` ("" for that of the text). `type`: null where nobody looks at them.
  absl::Status Fields(const proto::Descriptor* type, const std::string& path, std::string_view end,
                      int depth) {
    std::map<std::string, int> counts;
    while (!ended_ && token().text != end) {
      if (token().type != Tokenizer::TYPE_IDENTIFIER || depth > kDeepest) {
        ended_ = true;
        return absl::OkStatus();
      }
      const Tokenizer::Token name = token();
      Next();
      Take(":");
      const proto::FieldDescriptor* field = nullptr;
      if (type != nullptr) {
        const FieldPlaces::Place place{name.line, name.column};
        auto found = places_.Enter(*type, path, name.text, Scalar(), place);
        if (!found.ok()) return ErrorAt(file_, place, std::string(found.status().message()));
        field = *found;
      }
      ONWARD_RETURN_IF_ERROR(
          Value(field, FieldPath(path, name.text), counts[name.text], depth + 1));
      if (!Take(",")) Take(";");
    }
    return absl::OkStatus();
  }

 private:
  const Tokenizer::Token& token() const { return tokenizer_.current(); }
  void Next() { ended_ = !tokenizer_.Next(); }
  bool Take(std::string_view symbol) {
    if (ended_ || token().type != Tokenizer::TYPE_SYMBOL || token().text != symbol) return false;
    Next();
    return true;
  }
  // The value to come, where it is a string, a number or a name.
  std::string Scalar() const {
    if (ended_ || token().type == Tokenizer::TYPE_SYMBOL) return "";
    std::string text;
    if (token().type != Tokenizer::TYPE_STRING) return token().text;
    Tokenizer::ParseString(token().text, &text);
    return text;
  }

  // `count`: of a repeated field's elements so far.
  absl::Status Value(const proto::FieldDescriptor* field, const std::string& path, int& count,
                     int depth) {
    if (Take("[")) {
      while (!ended_ && token().text != "]") {
        ONWARD_RETURN_IF_ERROR(Value(field, path, count, depth + 1));
        if (depth > kDeepest || (!Take(",") && token().text != "]")) ended_ = true;
      }
      Take("]");
      return absl::OkStatus();
    }
    std::string element = path;
    if (field != nullptr && field->is_repeated()) {
      absl::StrAppend(&element, "[", count++, "]");
      places_.Note(element, {token().line, token().column});
    }
    for (const auto& [begin, end] : {std::pair{"{", "}"}, std::pair{"<", ">"}}) {
      if (!Take(begin)) continue;
      ONWARD_RETURN_IF_ERROR(
          Fields(field == nullptr ? nullptr : field->message_type(), element, end, depth));
      Take(end);
      return absl::OkStatus();
    }
    Take("-");
    if (ended_ || token().type == Tokenizer::TYPE_SYMBOL) {
      ended_ = true;
      return absl::OkStatus();
    }
    const bool text = token().type == Tokenizer::TYPE_STRING;
    do {
      Next();
    } while (text && !ended_ && token().type == Tokenizer::TYPE_STRING);
    return absl::OkStatus();
  }

  const std::string& file_;
  Tokenizer& tokenizer_;
  FieldPlaces& places_;
  bool ended_ = false;
};

}  // namespace

absl::Status ScanText(const std::string& file, std::string_view text, const proto::Descriptor& type,
                      FieldPlaces& places) {
  proto::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  IgnoredErrors ignored;
  Tokenizer tokenizer(&input, &ignored);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  tokenizer.set_allow_multiline_strings(true);
  return Scanner(file, tokenizer, places).Fields(&type, "", "", 0);
}

}  // namespace onward::training
