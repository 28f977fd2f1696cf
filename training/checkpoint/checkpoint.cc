#include "training/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/mapped_file.h"
#include "files/safetensors.h"
#include "files/write_file.h"
#include "graph/base/crc32c.h"
#include "onward/status.h"
#include "training/checkpoint/manifest.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;

constexpr char kTensors[] = "state.safetensors";
constexpr char kManifest[] = "manifest.json";

std::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.byte_size())};
}

absl::Status Lost(const std::string& file, std::string_view why) {
  return absl::DataLossError(absl::StrCat("'", file, "': ", std::string(why)));
}

absl::StatusOr<Manifest> ReadManifest(const std::string& path) {
  const std::string file = absl::StrCat(path, "/", kManifest);
  const auto mapped = files::MappedFile::Open(file);
  if (!mapped.ok()) return absl::DataLossError(mapped.status().message());
  absl::StatusOr<Manifest> manifest = ParseManifest((*mapped)->bytes());
  if (!manifest.ok()) return Annotate(manifest.status(), absl::StrCat("'", file, "':"));
  return manifest;
}

// Which tensors of a file with a wrong checksum are damaged.
std::string DamagedTensors(const files::Safetensors& file, const Manifest& manifest) {
  std::vector<std::string> names;
  for (const auto& [name, crc] : manifest.tensors) {
    const auto tensor = file.tensors.find(name);
    if (tensor == file.tensors.end() || Crc32c(BytesOf(tensor->second)) != crc)
      names.push_back(absl::StrCat("'", name, "'"));
  }
  if (names.empty()) return "its header";
  if (names.size() > 5) {
    const size_t more = names.size() - 5;
    names.resize(5);
    names.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrCat("tensor ", absl::StrJoin(names, ", "));
}

// "000012-step-3400"
std::optional<CheckpointEntry> ParseName(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t dash = name.find("-step-");
  CheckpointEntry entry;
  if (dash == name.npos || !absl::SimpleAtoi(name.substr(0, dash), &entry.sequence) ||
      !absl::SimpleAtoi(name.substr(dash + 6), &entry.step) || entry.sequence < 0)
    return std::nullopt;
  entry.path = path.string();
  return entry;
}

void SortNewestFirst(std::vector<CheckpointEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.sequence, a.path) > std::tie(b.sequence, b.path);
  });
}

std::string TypeOf(const Tensor& tensor) {
  return absl::StrCat(std::string(DTypeName(tensor.dtype())), DimsString(tensor.dims()));
}

}  // namespace

absl::Status WriteCheckpointFiles(const TrainingState& state, const std::string& path) {
  Manifest manifest{state.step, state.metric, state.values, 0, 0, {}};
  for (const auto& [name, tensor] : state.tensors)
    if (tensor.dtype() != DType::kString) manifest.tensors[name] = Crc32c(BytesOf(tensor));
  ONWARD_ASSIGN_OR_RETURN(files::AtomicFile tensors,
                          files::AtomicFile::Create(absl::StrCat(path, "/", kTensors)));
  const auto append = [&](std::string_view bytes) {
    manifest.size += static_cast<int64_t>(bytes.size());
    manifest.crc32c = Crc32c(bytes, manifest.crc32c);
    return tensors.Append(bytes);
  };
  ONWARD_RETURN_IF_ERROR(files::WriteSafetensors({state.tensors, {{"format", "onward"}}}, append));
  ONWARD_RETURN_IF_ERROR(tensors.Commit());
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ManifestText(manifest));
  ONWARD_ASSIGN_OR_RETURN(files::AtomicFile file,
                          files::AtomicFile::Create(absl::StrCat(path, "/", kManifest)));
  ONWARD_RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

absl::StatusOr<TrainingState> LoadCheckpoint(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(path));
  const std::string file = absl::StrCat(path, "/", kTensors);
  const auto mapped = files::MappedFile::Open(file);
  if (!mapped.ok()) return absl::DataLossError(mapped.status().message());
  const auto size = static_cast<int64_t>((*mapped)->bytes().size());
  if (size != manifest.size)
    return Lost(file, absl::StrCat("has ", size, " bytes, was written with ", manifest.size));
  const bool damaged = Crc32c((*mapped)->bytes()) != manifest.crc32c;
  absl::StatusOr<files::Safetensors> tensors = files::ReadSafetensors(file);
  if (!tensors.ok()) return absl::DataLossError(tensors.status().message());
  if (damaged)
    return Lost(file, absl::StrCat("damaged: the checksum differs, of ",
                                   DamagedTensors(*tensors, manifest)));
  return TrainingState{manifest.step, manifest.metric, std::move(tensors->tensors),
                       std::move(manifest.values)};
}

absl::StatusOr<std::vector<CheckpointEntry>> ListCheckpoints(const std::string& directory) {
  std::vector<CheckpointEntry> entries;
  std::error_code error;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::optional<CheckpointEntry> entry = ParseName(it->path());
    if (!entry) continue;
    const absl::StatusOr<Manifest> manifest = ReadManifest(entry->path);
    if (manifest.ok()) entry->metric = manifest->metric;
    entries.push_back(*std::move(entry));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read '", directory, "': ", error.message()));
  }
  SortNewestFirst(entries);
  return entries;
}

absl::StatusOr<std::vector<CheckpointEntry>> ListCheckpoints(
    const std::vector<std::string>& directories) {
  std::vector<CheckpointEntry> entries;
  for (const std::string& directory : directories) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<CheckpointEntry> more, ListCheckpoints(directory));
    entries.insert(entries.end(), more.begin(), more.end());
  }
  SortNewestFirst(entries);
  return entries;
}

std::vector<const CheckpointEntry*> BestFirst(const std::vector<CheckpointEntry>& entries,
                                              bool largest_is_best) {
  std::vector<const CheckpointEntry*> found;
  for (const CheckpointEntry& entry : entries)
    if (entry.metric && !std::isnan(*entry.metric)) found.push_back(&entry);
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    if (*a->metric != *b->metric)
      return largest_is_best ? *a->metric > *b->metric : *a->metric < *b->metric;
    return a->step < b->step;
  });
  return found;
}

const CheckpointEntry* BestCheckpoint(const std::vector<CheckpointEntry>& newest_first,
                                      bool largest_is_best) {
  const auto found = BestFirst(newest_first, largest_is_best);
  return found.empty() ? nullptr : found[0];
}

absl::StatusOr<LoadedCheckpoint> LoadNewestCheckpoint(const std::string& directory) {
  return LoadNewestCheckpoint(std::vector<std::string>{directory});
}

absl::StatusOr<LoadedCheckpoint> LoadNewestCheckpoint(const std::vector<std::string>& directories) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<CheckpointEntry> entries, ListCheckpoints(directories));
  if (entries.empty())
    return absl::NotFoundError(
        absl::StrCat("there is no checkpoint in '", absl::StrJoin(directories, "' or '"), "'"));
  LoadedCheckpoint loaded;
  for (const CheckpointEntry& entry : entries) {
    absl::StatusOr<TrainingState> state = LoadCheckpoint(entry.path);
    if (state.ok()) {
      loaded.state = *std::move(state);
      loaded.path = entry.path;
      return loaded;
    }
    loaded.damaged.emplace_back(state.status().message());
  }
  return absl::DataLossError(
      absl::StrCat("every checkpoint is damaged: ", absl::StrJoin(loaded.damaged, "; ")));
}

absl::Status CheckSameTensors(const TrainingState& state,
                              const std::map<std::string, Tensor>& expected) {
  std::vector<std::string> differences;
  for (const auto& [name, tensor] : expected) {
    const auto found = state.tensors.find(name);
    if (found == state.tensors.end()) {
      differences.push_back(absl::StrCat("it has no '", name, "'"));
    } else if (TypeOf(found->second) != TypeOf(tensor)) {
      differences.push_back(absl::StrCat("'", name, "' is ", TypeOf(found->second), " there and ",
                                         TypeOf(tensor), " here"));
    }
  }
  for (const auto& [name, tensor] : state.tensors)
    if (expected.count(name) == 0) differences.push_back(absl::StrCat("'", name, "' is not here"));
  if (differences.empty()) return absl::OkStatus();
  constexpr size_t kShown = 20;
  const size_t count = differences.size();
  if (count > kShown) {
    differences.resize(kShown);
    differences.push_back(absl::StrCat("and ", count - kShown, " more"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the checkpoint is of another model: ", absl::StrJoin(differences, "; ")));
}

}  // namespace onward::training
