// Losses, optimizers and schedules of a configuration are of one kind each: the field of their
// oneof `kind` that is set.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace onward::training {

// Null where none is set.
const google::protobuf::FieldDescriptor* KindOf(const google::protobuf::Message& message);
// "adamw"; "" where none is set.
std::string KindName(const google::protobuf::Message& message);
// All of them, in the order of their declaration; none where the message has no oneof `kind`.
std::vector<const google::protobuf::FieldDescriptor*> KindsOf(
    const google::protobuf::Descriptor& type);
std::string KindNames(const google::protobuf::Descriptor& type);  // "adam, adamw, ..."

}  // namespace onward::training
