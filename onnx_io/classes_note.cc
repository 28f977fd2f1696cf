#include "onnx_io/classes_note.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace onward::onnx_io {

absl::StatusOr<std::optional<ClassesNote>> ReadClassesNote(const Metadata& metadata) {
  const auto found = metadata.find(kClassesNote);
  if (found == metadata.end()) return std::optional<ClassesNote>();
  const auto note = nlohmann::json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!note.is_object())
    return absl::InvalidArgumentError(
        absl::StrCat("the model's metadata '", kClassesNote, "' is not a JSON object"));
  try {
    return std::optional<ClassesNote>(
        ClassesNote{note.value("output", ""), note.at("names").get<std::vector<std::string>>()});
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's metadata '", kClassesNote, "': ", error.what()));
  }
}

}  // namespace onward::onnx_io
