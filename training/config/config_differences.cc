#include "training/config/config_differences.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"

namespace onward::training {
namespace {

namespace proto = google::protobuf;

std::string ScalarText(const proto::Message& message, const proto::FieldDescriptor* field,
                       int index) {
  std::string text;
  proto::TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

// Returns whether an optional field of its own default says what it would say unset. A default that
// is not written in the .proto may stand for another behaviour than the value itself.
bool IsDefault(const proto::Message& message, const proto::FieldDescriptor* field) {
  if (field->is_repeated() || !field->has_default_value()) return false;
  proto::Message* other = message.New();
  const proto::Reflection& reflection = *message.GetReflection();
  other->MergeFrom(message);
  reflection.ClearField(other, field);
  const bool same = ScalarText(message, field, -1) == ScalarText(*other, field, -1);
  delete other;
  return same;
}

void Collect(const proto::Message& message, const std::string& prefix,
             std::map<std::string, std::string>& fields) {
  const proto::Reflection& reflection = *message.GetReflection();
  std::vector<const proto::FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const proto::FieldDescriptor* field : set) {
    const std::string path = absl::StrCat(prefix, field->name());
    const bool is_message = field->cpp_type() == proto::FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string element = field->is_repeated() ? absl::StrCat(path, ".", i) : path;
      if (!is_message) {
        if (!IsDefault(message, field))
          fields[element] = ScalarText(message, field, field->is_repeated() ? i : -1);
        continue;
      }
      const proto::Message& inner = field->is_repeated()
                                        ? reflection.GetRepeatedMessage(message, field, i)
                                        : reflection.GetMessage(message, field);
      if (!field->is_map()) {
        // Messages without fields say something by being there.
        if (inner.ByteSizeLong() == 0) fields[element] = "{}";
        Collect(inner, element + ".", fields);
        continue;
      }
      const proto::Descriptor* entry = inner.GetDescriptor();
      std::string key = ScalarText(inner, entry->map_key(), -1);
      if (key.size() >= 2 && key.front() == '"') key = key.substr(1, key.size() - 2);
      fields[absl::StrCat(path, ".", key)] = ScalarText(inner, entry->map_value(), -1);
    }
  }
}

}  // namespace

std::map<std::string, std::string> FieldsOf(const proto::Message& message) {
  std::map<std::string, std::string> fields;
  Collect(message, "", fields);
  return fields;
}

std::vector<std::string> DifferencesOf(const std::map<std::string, std::string>& before,
                                       const std::map<std::string, std::string>& now) {
  std::map<std::string, std::string> all = before;
  all.insert(now.begin(), now.end());
  std::vector<std::string> differences;
  for (const auto& [path, unused] : all) {
    const auto old = before.find(path), current = now.find(path);
    const std::string was = old == before.end() ? "nothing" : old->second;
    const std::string is = current == now.end() ? "nothing" : current->second;
    if (was != is) differences.push_back(absl::StrCat(path, ": ", was, " -> ", is));
  }
  return differences;
}

}  // namespace onward::training
