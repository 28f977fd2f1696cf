#include "training/config/set_field.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "executors/session.h"
#include "graph/base/status.h"

namespace onward {
namespace {

namespace proto = google::protobuf;

// A field of a message, or one element of it.
struct Place {
  proto::Message* message = nullptr;  // null: an empty value, and there is nothing to clear
  const proto::FieldDescriptor* field = nullptr;
  int element = -1;  // of a repeated field; -1: all of it
};

class Quiet : public proto::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

std::vector<std::string> FieldNames(const proto::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

absl::Status UnknownField(const std::string& name, const proto::Descriptor& type) {
  const std::vector<std::string> names = FieldNames(type);
  const auto begun = std::find_if(names.begin(), names.end(), [&](const std::string& each) {
    return !name.empty() && absl::StartsWith(each, name);
  });
  const std::string closest = begun == names.end() ? ClosestName(name, names) : *begun;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no field '", name, "' in ", type.name(),
                   closest.empty() ? "" : absl::StrCat(" (did you mean '", closest, "'?)"),
                   "; it has ", absl::StrJoin(names, ", ")));
}

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

// Where the path leads. With `clears` nothing is made on the way, and entries of maps are removed.
absl::StatusOr<Place> Find(proto::Message& root, std::string_view path, bool clears) {
  const std::vector<std::string> names = absl::StrSplit(std::string(path), '.');
  proto::Message* message = &root;
  for (size_t i = 0; i < names.size(); ++i) {
    const proto::Reflection* reflection = message->GetReflection();
    const proto::FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(names[i]);
    if (field == nullptr) return UnknownField(names[i], *message->GetDescriptor());
    if (i + 1 == names.size()) return Place{message, field};
    if (field->is_map()) {
      // What follows is one key: it may have dots of its own.
      const std::string key =
          absl::StrJoin(names.begin() + static_cast<int64_t>(i) + 1, names.end(), ".");
      return EntryPlace(*message, field, key, clears);
    }
    if (field->is_repeated()) {
      ONWARD_ASSIGN_OR_RETURN(const int element, ElementAt(*message, field, names[++i]));
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
      const std::string rest =
          absl::StrJoin(names.begin() + static_cast<int64_t>(i) + 1, names.end(), ".");
      ONWARD_RETURN_IF_ERROR(Find(*empty, rest, clears).status());
      return Place{};
    }
    message = reflection->MutableMessage(message, field);
  }
  return absl::InvalidArgumentError("no field is named");
}

// Adds one value to a repeated field, or several for "[a, b]"; sets another field.
absl::Status Put(proto::Message& message, const proto::FieldDescriptor* field,
                 const std::string& value) {
  proto::TextFormat::Parser parser;
  Quiet quiet;
  parser.RecordErrorsTo(&quiet);
  parser.AllowPartialMessage(true);
  const proto::Reflection* reflection = message.GetReflection();
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

}  // namespace onward
