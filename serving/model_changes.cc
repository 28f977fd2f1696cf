// Changes of a repository of models: loads, reloads, unloads.
#include <malloc.h>

#include <map>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/http/framing.h"
#include "serving/model_repository.h"
#include "serving/repository/or_no_memory.h"
#include "serving/repository/without_path.h"

namespace onward::serving {
namespace {

absl::Status Overtaken(const std::string& name) {
  return OrNoMemory([&] {
    return absl::FailedPreconditionError(
        absl::StrCat("another request to load or unload model '", name, "' came after this one"));
  });
}

// The reason that the index gives.
std::string ReasonOf(const absl::Status& status, const std::string& path) {
  try {
    if (!status.message().empty()) return std::string(WithoutPath(status, path).message());
  } catch (const std::bad_alloc&) {
  }
  return "out of memory";  // so short a text takes none
}

}  // namespace

std::shared_ptr<ModelStatistics> ModelRepository::StatisticsOf(const std::string& name,
                                                               int64_t version) {
  const std::unique_lock lock(mutex_);
  std::shared_ptr<ModelStatistics>& statistics = entries_[name].statistics[version];
  if (statistics == nullptr) statistics = std::make_shared<ModelStatistics>();
  return statistics;
}

absl::StatusOr<ModelSource> ModelRepository::SourceOf(const std::string& name, bool brings_files) {
  const std::unique_lock lock(mutex_);
  Entry& entry = entries_[name];
  if (!entry.path.empty() || brings_files) return ModelSource{name, entry.path};
  for (const std::string& root : roots_) {
    const std::string path = root + "/" + name;
    if (!IsModelDirectory(path)) continue;
    entry.path = path;
    return ModelSource{name, path};
  }
  if (!entry.versions.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "model '", name, "' was not loaded from a file, so it cannot be loaded again"));
  return absl::NotFoundError(absl::StrCat("the repository has no model '", name, "'"));
}

absl::StatusOr<ModelSource> ModelRepository::MemberSource(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry != entries_.end() && !entry->second.path.empty())
    return ModelSource{name, entry->second.path};
  for (const std::string& root : roots_) {
    const std::string path = root + "/" + name;
    if (CanBeSegment(name) && IsModelDirectory(path)) return ModelSource{name, path};
  }
  if (entry == entries_.end()) return UnknownModel(name);
  return absl::NotFoundError(
      absl::StrCat("model '", name, "' was not loaded from a file, so it cannot be loaded again"));
}

absl::StatusOr<ModelRepository::Models> ModelRepository::LoadNow(const std::string& name,
                                                                 const ReadRequest& read) {
  if (queue_.ends()) return absl::UnavailableError("the server is stopping");
  if (load_session_.import == nullptr)
    return absl::UnimplementedError("this server does not load models");
  LoadRequest request;
  if (read != nullptr) {
    ONWARD_ASSIGN_OR_RETURN(request, read());
  }
  ONWARD_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(name, !request.files.empty()));
  LoadContext context;
  context.load_session = load_session_;
  context.load_generator = load_generator_;
  context.log = log_;
  context.statistics = [this, &name](int64_t version) { return StatisticsOf(name, version); };
  context.find = [this](const std::string& other) { return MemberSource(other); };
  return LoadModel(source, request, context);
}

void ModelRepository::Load(const std::string& name, ReadRequest read, Done done) {
  if (!CanBeSegment(name)) return done(absl::InvalidArgumentError("a model cannot have this name"));
  // Everything that allocates comes before the load is counted.
  const auto turn = std::make_shared<uint64_t>(0);
  std::function<void()> task = [this, name, turn, read = std::move(read), done] {
    done(Publish(name, *turn, OrNoMemory([&] { return LoadNow(name, read); })));
  };
  {
    const std::unique_lock lock(mutex_);
    Entry& entry = entries_[name];
    ++entry.loads;
    *turn = ++entry.turn;
  }
  const absl::Status submitted = OrNoMemory([&] {
    return queue_.Submit(std::move(task)) ? absl::OkStatus()
                                          : absl::UnavailableError("too many loads wait already");
  });
  if (!submitted.ok()) done(Publish(name, *turn, submitted));
}

absl::Status ModelRepository::ForClients(const std::string& name,
                                         const absl::Status& status) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? status : WithoutPath(status, found->second.path);
}

void ModelRepository::TakeAway(Entry& entry, const std::string& reason, Models& gone) {
  for (auto& [number, version] : entry.versions) {
    if (version.model == nullptr) continue;
    version.last = version.model;
    version.reason = reason;
    gone.push_back(std::move(version.model));
    version.model = nullptr;
  }
}

absl::Status ModelRepository::Replace(Entry& entry, const Models& models, Models& gone) {
  return OrNoMemory([&] {
    // Nothing changes before all memory is there.
    std::map<int64_t, Version> fresh;
    for (const std::shared_ptr<ServedModel>& model : models)
      fresh[model->version_number()].model = model;
    gone.reserve(entry.versions.size());
    TakeAway(entry, "unloaded", gone);
    for (const auto& [number, version] : fresh) entry.versions.erase(number);
    entry.versions.merge(fresh);
    entry.reason.clear();
    return absl::OkStatus();
  });
}

absl::Status ModelRepository::Publish(const std::string& name, uint64_t turn,
                                      absl::StatusOr<Models> models) {
  Models gone;  // is freed after the lock
  absl::Status status = models.status();
  {
    const std::unique_lock lock(mutex_);
    Entry& entry = entries_[name];
    --entry.loads;
    const bool overtaken = entry.turn != turn;
    if (models.ok()) status = overtaken ? Overtaken(name) : Replace(entry, *models, gone);
    if (models.ok() && !status.ok()) gone = *std::move(models);
    if (!status.ok() && entry.path.empty() && entry.versions.empty() && entry.loads == 0) {
      entries_.erase(name);
    } else if (!status.ok() && !overtaken) {
      entry.reason = ReasonOf(status, entry.path);
    }
  }
  Free(std::move(gone));
  return status;
}

absl::Status ModelRepository::Unload(const std::string& name) {
  Models gone;
  {
    const std::unique_lock lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return UnknownModel(name);
    Entry& entry = found->second;
    gone.reserve(entry.versions.size());
    ++entry.turn;
    entry.reason = entry.versions.empty() ? "unloaded" : "";
    TakeAway(entry, "unloaded", gone);
  }
  Free(std::move(gone));
  return absl::OkStatus();
}

void ModelRepository::Free(Models gone) {
  if (gone.empty()) return;
  // A queue that has no room, or no memory, leaves it to this thread.
  try {
    const auto shared = std::make_shared<Models>(std::move(gone));
    freed_.Submit([shared] {
      shared->clear();
      malloc_trim(0);
    });
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace onward::serving
