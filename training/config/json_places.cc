#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/field_names.h"
#include "training/config/field_places.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

constexpr int kDeepest = 100;

// Recursive descent over a text that a parser has accepted.
class Scanner {
 public:
  Scanner(const std::string& file, std::string_view text, FieldPlaces& places)
      : file_(file), text_(text), places_(places) {}

  // `type`: of an object's fields; null: nobody looks at them.
  absl::Status Value(const proto::Descriptor* type, const std::string& name, int depth) {
    SkipSpace();
    if (depth > kDeepest) return Error(at_, "nested deeper than 100");
    if (Peek() == '{') return Object(type, name, depth);
    if (Peek() == '[') return Array(type, name, depth);
    if (Peek() == '"') {
      String();
      return absl::OkStatus();
    }
    while (std::isalnum(static_cast<unsigned char>(Peek())) != 0 || Peek() == '-' ||
           Peek() == '+' || Peek() == '.') {
      ++at_;
    }
    return absl::OkStatus();
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  // Returns whether another element follows; passes the comma or the end.
  bool More(char end) {
    SkipSpace();
    const char next = Peek();
    ++at_;
    return next == ',' && next != end;
  }
  std::string String() {
    std::string value;
    for (++at_; at_ < text_.size() && Peek() != '"'; ++at_) {
      if (Peek() == '\\') value += text_[at_++];
      if (at_ < text_.size()) value += text_[at_];
    }
    ++at_;
    return value;
  }

  FieldPlaces::Place PlaceOf(size_t at) const {
    FieldPlaces::Place place;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      ++place.column;
      if (text_[i] == '\n') place = {place.line + 1, 0};
    }
    return place;
  }
  absl::Status Error(size_t at, const std::string& message) const {
    return ErrorAt(file_, PlaceOf(at), message);
  }
  // The string to come, for an error.
  std::string Scalar() {
    const size_t begin = at_;
    SkipSpace();
    const std::string value = Peek() == '"' ? String() : "";
    at_ = begin;
    return value;
  }
  static bool IsKey(const proto::FieldDescriptor* field, const std::string& key) {
    return field->camelcase_name() == key || field->json_name() == key;
  }

  absl::Status Object(const proto::Descriptor* type, const std::string& name, int depth) {
    ++at_;
    SkipSpace();
    if (Peek() == '}') {
      ++at_;
      return absl::OkStatus();
    }
    do {
      SkipSpace();
      const size_t begin = at_;
      const std::string key = String();
      SkipSpace();
      ++at_;  // the colon
      const proto::FieldDescriptor* field = nullptr;
      std::string member = FieldPath(name, key);
      if (type != nullptr) {
        std::string given = key;
        for (int i = 0; i < type->field_count(); ++i)
          if (IsKey(type->field(i), key)) given = type->field(i)->name();
        auto found = places_.Enter(*type, name, given, Scalar(), PlaceOf(begin));
        if (!found.ok()) return Error(begin, std::string(found.status().message()));
        field = *found;
        member = FieldPath(name, field->name());
      } else {
        places_.Note(member, PlaceOf(begin));
      }
      const bool fields = field != nullptr && !field->is_map();
      ONWARD_RETURN_IF_ERROR(Value(fields ? field->message_type() : nullptr, member, depth + 1));
    } while (More('}'));
    return absl::OkStatus();
  }

  absl::Status Array(const proto::Descriptor* type, const std::string& name, int depth) {
    ++at_;
    SkipSpace();
    if (Peek() == ']') {
      ++at_;
      return absl::OkStatus();
    }
    int index = 0;
    do {
      SkipSpace();
      const std::string element = absl::StrCat(name, "[", index++, "]");
      places_.Note(element, PlaceOf(at_));
      ONWARD_RETURN_IF_ERROR(Value(type, element, depth + 1));
    } while (More(']'));
    return absl::OkStatus();
  }

  const std::string& file_;
  const std::string_view text_;
  FieldPlaces& places_;
  size_t at_ = 0;
};

}  // namespace

absl::Status ScanJson(const std::string& file, std::string_view text, const proto::Descriptor& type,
                      FieldPlaces& places) {
  return Scanner(file, text, places).Value(&type, "", 0);
}

}  // namespace onward::training
