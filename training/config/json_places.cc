#include "training/config/json_places.h"

#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {
namespace {

namespace proto = google::protobuf;
using Places = std::map<std::string, JsonPlaces::Place>;

constexpr int kDeepest = 100;

// Recursive descent over a text that a parser has accepted.
class Scanner {
 public:
  Scanner(const std::string& path, std::string_view text, Places& places)
      : path_(path), text_(text), places_(places) {}

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
  // Whether another element follows; passes the comma or the end.
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

  JsonPlaces::Place PlaceOf(size_t at) const {
    JsonPlaces::Place place;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      ++place.column;
      if (text_[i] == '\n') place = {place.line + 1, 0};
    }
    return place;
  }
  absl::Status Error(size_t at, const std::string& message) const {
    const JsonPlaces::Place place = PlaceOf(at);
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ":", place.line + 1, ":", place.column + 1, ": ", message));
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
      if (type != nullptr) {
        field = type->FindFieldByName(key);
        if (field == nullptr) field = type->FindFieldByCamelcaseName(key);
        if (field == nullptr)
          return Error(begin, absl::StrCat("Message type \"", type->full_name(),
                                           "\" has no field named \"", key, "\"."));
      }
      const std::string member =
          absl::StrCat(name, name.empty() ? "" : ".", field == nullptr ? key : field->name());
      places_[member] = PlaceOf(begin);
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
      places_[element] = PlaceOf(at_);
      ONWARD_RETURN_IF_ERROR(Value(type, element, depth + 1));
    } while (More(']'));
    return absl::OkStatus();
  }

  const std::string& path_;
  const std::string_view text_;
  Places& places_;
  size_t at_ = 0;
};

}  // namespace

absl::Status JsonPlaces::Scan(const std::string& path, std::string_view text,
                              const proto::Descriptor& type) {
  return Scanner(path, text, places_).Value(&type, "", 0);
}

JsonPlaces::Place JsonPlaces::Of(std::string field) const {
  while (true) {
    const auto it = places_.find(field);
    if (it != places_.end()) return it->second;
    const size_t last = field.find_last_of(".[");
    if (last == std::string::npos) return {};
    field.resize(last);
  }
}

}  // namespace onward
