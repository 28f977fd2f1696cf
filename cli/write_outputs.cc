#include "cli/write_outputs.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/summary.h"
#include "files/npy.h"
#include "files/write_file.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

// Classifiers give one map of probabilities a row.
bool HoldsMaps(const Value& value) {
  if (!value.is_sequence() || value.sequence().empty()) return false;
  return std::all_of(value.sequence().begin(), value.sequence().end(),
                     [](const Value& element) { return element.is_map(); });
}

absl::Status WriteJson(const nlohmann::json& json, const std::string& path) {
  return files::WriteFile(
      path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

absl::Status WriteOutputs(const Session::Outputs& outputs, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make directory '", directory, "': ", error.message()));
  for (const auto& [name, value] : outputs) {
    const std::string base = directory + "/" + files::SafeFileName(name);
    if (value.is_tensor()) {
      ONWARD_RETURN_IF_ERROR(files::WriteNpy(value.tensor(), base + ".npy"));
    } else if (value.is_map()) {
      ONWARD_RETURN_IF_ERROR(WriteJson(MapJson(value.map()), base + ".json"));
    } else if (HoldsMaps(value)) {
      nlohmann::json maps = nlohmann::json::array();
      for (const Value& element : value.sequence()) maps.push_back(MapJson(element.map()));
      ONWARD_RETURN_IF_ERROR(WriteJson(maps, base + ".json"));
    } else if (value.is_sequence()) {
      int index = 0;
      for (const Value& element : value.sequence()) {
        if (element.is_tensor())
          ONWARD_RETURN_IF_ERROR(
              files::WriteNpy(element.tensor(), absl::StrCat(base, "_", index, ".npy")));
        ++index;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace onward::cli
