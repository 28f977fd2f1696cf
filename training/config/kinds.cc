#include "training/config/kinds.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace onward::training {

namespace proto = google::protobuf;

const proto::FieldDescriptor* KindOf(const proto::Message& message) {
  const proto::OneofDescriptor* kind = message.GetDescriptor()->FindOneofByName("kind");
  return kind == nullptr ? nullptr
                         : message.GetReflection()->GetOneofFieldDescriptor(message, kind);
}

std::string KindName(const proto::Message& message) {
  const proto::FieldDescriptor* kind = KindOf(message);
  return kind == nullptr ? "" : kind->name();
}

std::vector<const proto::FieldDescriptor*> KindsOf(const proto::Descriptor& type) {
  std::vector<const proto::FieldDescriptor*> kinds;
  const proto::OneofDescriptor* kind = type.FindOneofByName("kind");
  for (int i = 0; kind != nullptr && i < kind->field_count(); ++i) kinds.push_back(kind->field(i));
  return kinds;
}

std::string KindNames(const proto::Descriptor& type) {
  std::string names;
  for (const proto::FieldDescriptor* kind : KindsOf(type))
    absl::StrAppend(&names, names.empty() ? "" : ", ", kind->name());
  return names;
}

}  // namespace onward::training
