#include "files/safetensors_shards.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

// The names of the tensors of each file.
using Shards = std::map<std::string, std::vector<std::string>>;

// Indexes come from strangers: they name files beside themselves, not elsewhere.
bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

absl::StatusOr<Shards> ParseIndex(std::string_view bytes) {
  const nlohmann::json index = nlohmann::json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object())
    return absl::InvalidArgumentError(
        "not an index of weights: expected a JSON object with the object \"weight_map\"");
  Shards shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsFileName(file.get<std::string>()))
      return absl::InvalidArgumentError(
          absl::StrCat("weight_map: '", PrintableUtf8(tensor),
                       "': expected the name of a file in the directory of the index"));
    shards[file.get<std::string>()].push_back(tensor);
  }
  return shards;
}

absl::Status AddShard(const std::string& path, const std::vector<std::string>& names,
                      Safetensors& all) {
  ONWARD_ASSIGN_OR_RETURN(Safetensors shard, ReadSafetensors(path));
  for (const std::string& name : names)
    if (shard.tensors.count(name) == 0)
      return absl::InvalidArgumentError(absl::StrCat("'", path, "': '", PrintableUtf8(name),
                                                     "', which the index has here, is not"
                                                     " in the file"));
  for (auto& [name, tensor] : shard.tensors)
    if (!all.tensors.emplace(name, std::move(tensor)).second)
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "': '", PrintableUtf8(name), "' is in another file, too"));
  all.metadata.insert(shard.metadata.begin(), shard.metadata.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Safetensors> ReadWeights(const std::string& path) {
  if (!absl::EndsWith(path, ".index.json")) return ReadSafetensors(path);
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  absl::StatusOr<Shards> shards = ParseIndex(file->bytes());
  if (!shards.ok()) return Annotate(shards.status(), absl::StrCat("'", path, "':"));
  Safetensors all;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  for (const auto& [name, tensors] : *shards)
    ONWARD_RETURN_IF_ERROR(AddShard((directory / name).string(), tensors, all));
  return all;
}

}  // namespace onward::files
