#include "serving/model_repository.h"

#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/closest_name.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

absl::Status TwoOfOneName(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("two models are named '", name, "': NAME=MODEL gives one another name"));
}

// Errors name files by paths that do not change with the process's directory.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

}  // namespace

const char* ModelStateName(ModelState state) {
  constexpr const char* kNames[] = {"UNKNOWN", "READY", "UNAVAILABLE", "LOADING", "UNLOADING"};
  return kNames[static_cast<int>(state)];
}

void ModelRepository::SetUp(SessionLoader load_session, GeneratorLoader load_generator,
                            LogSink log) {
  load_session_ = std::move(load_session);
  load_generator_ = std::move(load_generator);
  log_ = std::move(log);
}

void ModelRepository::AddRoot(const std::string& directory) {
  const std::unique_lock lock(mutex_);
  roots_.push_back(Absolute(directory));
}

absl::Status ModelRepository::Add(std::shared_ptr<ServedModel> model) {
  const std::unique_lock lock(mutex_);
  const auto [entry, added] = entries_.emplace(model->name(), Entry());
  if (!added) return TwoOfOneName(model->name());
  const int64_t version = model->version_number();
  entry->second.statistics[version] = model->shared_statistics();
  entry->second.versions[version].model = std::move(model);
  return absl::OkStatus();
}

absl::Status ModelRepository::AddSource(ModelSource source) {
  const std::unique_lock lock(mutex_);
  const auto [entry, added] = entries_.emplace(source.name, Entry());
  if (!added) return TwoOfOneName(source.name);
  entry->second.path = Absolute(source.path);
  return absl::OkStatus();
}

absl::Status ModelRepository::UnknownModel(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [each, entry] : entries_) names.push_back(each);
  return absl::NotFoundError(absl::StrCat("Request for unknown model: '", name, "' is not found",
                                          DidYouMean(name, names)));
}

absl::Status ModelRepository::NotReady(const std::string& name, const Entry& entry,
                                       const std::string& reason) {
  return absl::UnavailableError(absl::StrCat("model '", name, "' is not ready: ",
                                             entry.loads > 0  ? "it is being loaded"
                                             : reason.empty() ? "not loaded"
                                                              : reason));
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelRepository::Find(
    const std::string& name, const std::string& version) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return UnknownModel(name);
  const Entry& entry = found->second;
  if (version.empty()) {
    for (auto each = entry.versions.rbegin(); each != entry.versions.rend(); ++each)
      if (each->second.model != nullptr) return each->second.model;
    return NotReady(name, entry,
                    entry.versions.empty() ? entry.reason : entry.versions.rbegin()->second.reason);
  }
  int64_t number = 0;
  const auto there = absl::SimpleAtoi(version, &number) && absl::StrCat(number) == version
                         ? entry.versions.find(number)
                         : entry.versions.end();
  if (there == entry.versions.end()) {
    if (entry.versions.empty()) return NotReady(name, entry, entry.reason);
    std::vector<int64_t> numbers;
    for (const auto& [each, ignored] : entry.versions) numbers.push_back(each);
    return absl::NotFoundError(absl::StrCat("Request for unknown model: '", name,
                                            "' has no version ", version, ", it has ",
                                            absl::StrJoin(numbers, ", ")));
  }
  if (there->second.model != nullptr) return there->second.model;
  return NotReady(name, entry, there->second.reason);
}

std::vector<std::string> ModelRepository::Names() const {
  std::vector<std::string> names;
  for (const auto& model : Ready())
    if (names.empty() || names.back() != model->name()) names.push_back(model->name());
  return names;
}

std::vector<std::string> ModelRepository::Versions(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> versions;
  const auto found = entries_.find(name);
  if (found == entries_.end()) return versions;
  for (const auto& [number, version] : found->second.versions)
    if (version.model != nullptr) versions.push_back(absl::StrCat(number));
  return versions;
}

std::vector<std::shared_ptr<ServedModel>> ModelRepository::Ready() const {
  const std::shared_lock lock(mutex_);
  Models models;
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, version] : entry.versions)
      if (version.model != nullptr) models.push_back(version.model);
  return models;
}

std::vector<MeasuredModel> ModelRepository::Measured() const {
  const std::shared_lock lock(mutex_);
  std::vector<MeasuredModel> measured;
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, statistics] : entry.statistics)
      measured.push_back({name, absl::StrCat(number), statistics});
  return measured;
}

std::vector<IndexEntry> ModelRepository::Index(bool only_ready) const {
  const std::shared_lock lock(mutex_);
  std::vector<IndexEntry> index;
  for (const auto& [name, entry] : entries_) {
    const bool loading = entry.loads > 0;
    if (entry.versions.empty() && !only_ready) {
      const ModelState state = loading                ? ModelState::kLoading
                               : entry.reason.empty() ? ModelState::kUnknown
                                                      : ModelState::kUnavailable;
      index.push_back({name, "", state, entry.reason});
    }
    for (const auto& [number, version] : entry.versions) {
      const bool ready = version.model != nullptr;
      if (only_ready && !ready) continue;
      const ModelState state = ready                    ? ModelState::kReady
                               : loading                ? ModelState::kLoading
                               : version.last.expired() ? ModelState::kUnavailable
                                                        : ModelState::kUnloading;
      index.push_back({name, absl::StrCat(number), state, ready ? entry.reason : version.reason});
    }
  }
  return index;
}

}  // namespace onward::serving
