#include "training/config/field_places.h"

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/field_names.h"

namespace onward::training {

namespace proto = google::protobuf;

absl::StatusOr<const proto::FieldDescriptor*> FieldPlaces::Enter(const proto::Descriptor& type,
                                                                 const std::string& path,
                                                                 const std::string& name,
                                                                 const std::string& value,
                                                                 Place place) {
  ONWARD_ASSIGN_OR_RETURN(const proto::FieldDescriptor* field, FindField(type, path, name, value));
  if (const proto::OneofDescriptor* oneof = field->containing_oneof(); oneof != nullptr) {
    const auto [chosen, first] =
        chosen_.emplace(FieldPath(path, "oneof " + oneof->name()), field->name());
    if (!first && chosen->second != field->name()) {
      return absl::InvalidArgumentError(
          absl::StrCat(FieldPath(path, name), ": ", path.empty() ? "the config" : path, " has ",
                       chosen->second, " already, and takes one of the two"));
    }
  }
  Note(FieldPath(path, field->name()), place);
  return field;
}

FieldPlaces::Place FieldPlaces::Of(std::string field) const {
  while (true) {
    const auto it = places_.find(field);
    if (it != places_.end()) return it->second;
    const size_t last = field.find_last_of(".[");
    if (last == std::string::npos) return {};
    field.resize(last);
  }
}

absl::Status ErrorAt(const std::string& file, FieldPlaces::Place place,
                     const std::string& message) {
  if (file.empty()) return absl::InvalidArgumentError(message);
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":", place.line + 1, ":", place.column + 1, ": ", message));
}

}  // namespace onward::training
