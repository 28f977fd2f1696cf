// Fields of a configuration by the names that a text, JSON or `--set` writes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace onward::training {

// "optimizer", "lr" -> "optimizer.lr"; "", "seed" -> "seed".
std::string FieldPath(const std::string& message, const std::string& name);

// The field `name` of the message at `path` ("optimizer.group[0]"; "" for the outermost one), which
// `value` is written for ("" where that is not known). InvalidArgument: there is none such; names
// the path, and the closest field or what a former or PyTorch's name is written as.
absl::StatusOr<const google::protobuf::FieldDescriptor*> FindField(
    const google::protobuf::Descriptor& type, const std::string& path, const std::string& name,
    const std::string& value = "");

}  // namespace onward::training
