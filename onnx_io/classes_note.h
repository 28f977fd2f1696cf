// The names of a model's classes in its metadata; docs/data.md describes the key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::onnx_io {

inline constexpr char kClassesNote[] = "onward.classes";

// Names of classes, in the order of the scores that `output` has.
struct ClassesNote {
  std::string output;
  std::vector<std::string> names;
};

// nullopt: the metadata says nothing. InvalidArgument names the key.
absl::StatusOr<std::optional<ClassesNote>> ReadClassesNote(const Metadata& metadata);

}  // namespace onward::onnx_io
