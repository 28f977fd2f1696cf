#include "training/config/set_field.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"
#include "training/config/field_names.h"
#include "training/config/field_places.h"
#include "training/config/ignored_errors.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

// A field of a message, or one element of it.
struct Place {
  proto::Message* message = nullptr;  // null: an empty value, and there is nothing to clear
  const proto::FieldDescriptor* field = nullptr;
  int element = -1;  // of a repeated field; -1: all of it
};

absl::Status NotAValue(const std::string& value, const proto::FieldDescriptor* field) {
  std::string kind = field->type_name();
  if (field->enum_type() != nullptr) {
    std::vector<std::string> names;
    for (int i = 0; i < field->enum_type()->value_count(); ++i)
      names.push_back(field->enum_type()->value(i)->name());
    kind = absl::StrJoin(names, ", ");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", value, "' is not a value of field '", field->name(), "' (", kind, ")"));
}

// Keys of this schema's maps are strings.
int EntryOf(const proto::Message& message, const proto::FieldDescriptor* field,
            const std::string& key) {
  const proto::Reflection* reflection = message.GetReflection();
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    const proto::Message& entry = reflection->GetRepeatedMessage(message, field, i);
    if (entry.GetReflection()->GetString(entry, entry.GetDescriptor()->map_key()) == key) return i;
  }
  return -1;
}

void RemoveElement(proto::Message& message, const proto::FieldDescriptor* field, int element) {
  const proto::Reflection* reflection = message.GetReflection();
  for (int i = element; i + 1 < reflection->FieldSize(message, field); ++i)
    reflection->SwapElements(&message, field, i, i + 1);
  reflection->RemoveLast(&message, field);
}

absl::StatusOr<int> ElementAt(const proto::Message& message, const proto::FieldDescriptor* field,
                              const std::string& name) {
  int index = -1;
  const int size = message.GetReflection()->FieldSize(message, field);
  if (absl::SimpleAtoi(name, &index) && index >= 0 && index < size) return index;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not an index of '", field->name(), "', which has ", size));
}

// The entry of a map as a place: its value in an entry of its own.
Place EntryPlace(proto::Message& message, const proto::FieldDescriptor* field,
                 const std::string& key, bool clears) {
  const proto::Reflection* reflection = message.GetReflection();
  const int found = EntryOf(message, field, key);
  if (clears) {
    if (found >= 0) RemoveElement(message, field, found);
    return {};
  }
  proto::Message* entry = found >= 0 ? reflection->MutableRepeatedMessage(&message, field, found)
                                     : reflection->AddMessage(&message, field);
  entry->GetReflection()->SetString(entry, entry->GetDescriptor()->map_key(), key);
  return {entry, entry->GetDescriptor()->map_value()};
}

// A field of another kind than the message has would silently take its place, with all its options.
absl::Status CheckKind(const proto::Message& message, const proto::FieldDescriptor* field,
                       const std::string& path, const std::string& rest) {
  const proto::OneofDescriptor* kind = field->containing_oneof();
  if (kind == nullptr || kind->name() != "kind") return absl::OkStatus();
  const proto::FieldDescriptor* chosen =
      message.GetReflection()->GetOneofFieldDescriptor(message, kind);
  if (chosen == nullptr || chosen == field) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(FieldPath(path, field->name()), ": the config's is ", chosen->name(), "; ",
                   FieldPath(path, field->name()), "={", rest, ": ...} makes it ", field->name()));
}

std::string Rest(const std::vector<std::string>& names, size_t from) {
  return absl::StrJoin(names.begin() + static_cast<int64_t>(from), names.end(), ".");
}

// Where the path leads from the message at `at`. With `clears` nothing is made on the way, and
// entries of maps are removed.
absl::StatusOr<Place> Find(proto::Message& root, std::string_view path, bool clears,
                           std::string at = "") {
  const std::vector<std::string> names = absl::StrSplit(std::string(path), '.');
  proto::Message* message = &root;
  for (size_t i = 0; i < names.size(); ++i) {
    const proto::Reflection* reflection = message->GetReflection();
    ONWARD_ASSIGN_OR_RETURN(const proto::FieldDescriptor* field,
                            FindField(*message->GetDescriptor(), at, names[i]));
    if (i + 1 == names.size()) return Place{message, field};
    if (!clears) ONWARD_RETURN_IF_ERROR(CheckKind(*message, field, at, Rest(names, i + 1)));
    at = FieldPath(at, names[i]);
    // The rest behind a map is one key: it may have dots of its own.
    if (field->is_map()) return EntryPlace(*message, field, Rest(names, i + 1), clears);
    if (field->is_repeated()) {
      ONWARD_ASSIGN_OR_RETURN(const int element, ElementAt(*message, field, names[++i]));
      absl::StrAppend(&at, "[", element, "]");
      if (i + 1 == names.size()) return Place{message, field, element};
      if (field->message_type() != nullptr) {
        message = reflection->MutableRepeatedMessage(message, field, element);
        continue;
      }
    }
    if (field->message_type() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("field '", field->name(), "' has no fields of its own"));
    }
    if (clears && !reflection->HasField(*message, field)) {
      // The rest of the path still has to be one.
      std::unique_ptr<proto::Message> empty(
          reflection->GetMessageFactory()->GetPrototype(field->message_type())->New());
      ONWARD_RETURN_IF_ERROR(Find(*empty, Rest(names, i + 1), clears, at).status());
      return Place{};
    }
    message = reflection->MutableMessage(message, field);
  }
  return absl::InvalidArgumentError("no field is named");
}

// The names of the fields in a message's value, which the parser would refuse without naming them.
absl::Status CheckNames(const proto::FieldDescriptor* field, const std::string& value) {
  if (field->message_type() == nullptr || field->is_map()) return absl::OkStatus();
  FieldPlaces places;
  return ScanText("", absl::StrCat(field->name(), " ", value), *field->containing_type(), places);
}

// Adds one value to a repeated field, or several for "[a, b]"; sets another field.
absl::Status Put(proto::Message& message, const proto::FieldDescriptor* field,
                 const std::string& value) {
  proto::TextFormat::Parser parser;
  IgnoredErrors ignored;
  parser.RecordErrorsTo(&ignored);
  parser.AllowPartialMessage(true);
  parser.SetRecursionLimit(100);
  const proto::Reflection* reflection = message.GetReflection();
  ONWARD_RETURN_IF_ERROR(CheckNames(field, value));
  if (field->is_repeated() && absl::StartsWith(value, "[")) {
    return parser.MergeFromString(absl::StrCat(field->name(), ": ", value), &message)
               ? absl::OkStatus()
               : NotAValue(value, field);
  }
  if (field->cpp_type() == proto::FieldDescriptor::CPPTYPE_STRING) {
    if (field->is_repeated()) {
      reflection->AddString(&message, field, value);
    } else {
      reflection->SetString(&message, field, value);
    }
    return absl::OkStatus();
  }
  if (field->is_map() && !absl::StartsWith(value, "{")) {
    return absl::InvalidArgumentError(absl::StrCat("'", field->name(),
                                                   "' has a value by key: name the entry, as in ",
                                                   field->name(), ".KEY=", value));
  }
  return parser.ParseFieldValueFromString(value, field, &message) ? absl::OkStatus()
                                                                  : NotAValue(value, field);
}

absl::Status Put(const Place& place, const std::string& value) {
  if (place.element < 0) {
    place.message->GetReflection()->ClearField(place.message, place.field);
    return Put(*place.message, place.field, value);
  }
  const proto::Reflection* reflection = place.message->GetReflection();
  const int before = reflection->FieldSize(*place.message, place.field);
  ONWARD_RETURN_IF_ERROR(Put(*place.message, place.field, value));
  if (reflection->FieldSize(*place.message, place.field) != before + 1)
    return NotAValue(value, place.field);
  reflection->SwapElements(place.message, place.field, place.element, before);
  reflection->RemoveLast(place.message, place.field);
  return absl::OkStatus();
}

}  // namespace

absl::Status SetField(proto::Message& root, std::string_view path, const std::string& value) {
  ONWARD_ASSIGN_OR_RETURN(const Place place, Find(root, path, value.empty()));
  if (place.message == nullptr) return absl::OkStatus();
  if (!value.empty()) return Put(place, value);
  if (place.element >= 0) {
    RemoveElement(*place.message, place.field, place.element);
  } else {
    place.message->GetReflection()->ClearField(place.message, place.field);
  }
  return absl::OkStatus();
}

absl::Status ApplyOverride(proto::Message& root, std::string_view override_text) {
  const size_t equals = override_text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return absl::InvalidArgumentError("needs path.to.field=value");
  const std::string value(override_text.substr(equals + 1));
  if (override_text[equals - 1] != '+')
    return SetField(root, override_text.substr(0, equals), value);
  const std::string_view path = override_text.substr(0, equals - 1);
  ONWARD_ASSIGN_OR_RETURN(const Place place, Find(root, path, /*clears=*/value.empty()));
  if (place.message == nullptr || value.empty())
    return absl::InvalidArgumentError("+= needs a value to add");
  if (!place.field->is_repeated() || place.element >= 0) {
    return absl::InvalidArgumentError(absl::StrCat("+= adds an element to a field with several; '",
                                                   place.field->name(), "' has one value"));
  }
  return Put(*place.message, place.field, value);
}

}  // namespace onward::training
