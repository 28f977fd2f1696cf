// Changes of a repository of models: loads, reloads, unloads.
#include <malloc.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/http/framing.h"
#include "serving/model_repository.h"
#include "serving/repository/without_path.h"

namespace onward::serving {

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
  uint64_t turn = 0;
  {
    const std::unique_lock lock(mutex_);
    Entry& entry = entries_[name];
    ++entry.loads;
    turn = ++entry.turn;
  }
  const auto task = [this, name, turn, read = std::move(read), done] {
    done(Publish(name, turn, LoadNow(name, read)));
  };
  if (queue_.Submit(task)) return;
  const absl::Status refused = absl::UnavailableError("too many loads wait already");
  done(Publish(name, turn, refused));
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

absl::Status ModelRepository::Publish(const std::string& name, uint64_t turn,
                                      absl::StatusOr<Models> models) {
  Models gone;  // is freed after the lock
  {
    const std::unique_lock lock(mutex_);
    Entry& entry = entries_[name];
    --entry.loads;
    const bool overtaken = entry.turn != turn;
    if (models.ok() && overtaken) {
      gone = *std::move(models);
      models = absl::FailedPreconditionError(
          absl::StrCat("another request to load or unload model '", name, "' came after this one"));
    }
    if (models.ok()) {
      TakeAway(entry, "unloaded", gone);
      entry.reason.clear();
      for (std::shared_ptr<ServedModel>& model : *models) {
        Version& version = entry.versions[model->version_number()];
        version = {std::move(model), {}, ""};
      }
    } else if (entry.path.empty() && entry.versions.empty() && entry.loads == 0) {
      entries_.erase(name);
    } else if (!overtaken) {
      const absl::Status told = WithoutPath(models.status(), entry.path);
      entry.reason = std::string(told.message());
    }
  }
  Free(std::move(gone));
  return models.status();
}

absl::Status ModelRepository::Unload(const std::string& name) {
  Models gone;
  {
    const std::unique_lock lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return UnknownModel(name);
    Entry& entry = found->second;
    ++entry.turn;
    entry.reason = entry.versions.empty() ? "unloaded" : "";
    TakeAway(entry, "unloaded", gone);
  }
  Free(std::move(gone));
  return absl::OkStatus();
}

void ModelRepository::Free(Models gone) {
  if (gone.empty()) return;
  const auto shared = std::make_shared<Models>(std::move(gone));
  // A queue that has no room leaves it to this thread.
  freed_.Submit([shared] {
    shared->clear();
    malloc_trim(0);
  });
}

}  // namespace onward::serving
