// The models that a server has, by name and version. They may change while requests are served:
// who has found a model keeps it until he lets go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/repository/load_model.h"
#include "serving/repository/load_queue.h"
#include "serving/served_model.h"
#include "serving/statistics/prometheus.h"

namespace onward::serving {

enum class ModelState { kUnknown, kReady, kUnavailable, kLoading, kUnloading };
const char* ModelStateName(ModelState state);  // "READY"

struct IndexEntry {
  std::string name;
  std::string version;  // "": no version is known
  ModelState state = ModelState::kUnknown;
  std::string reason;  // of what is not ready, or of a reload that failed; has no path
};

// Thread-safe once set up.
class ModelRepository {
 public:
  ~ModelRepository() { End(); }

  // --- setting up
  // How models are loaded from files; without, only those that are added are there.
  void SetUp(SessionLoader load_session, GeneratorLoader load_generator, LogSink log);
  // A directory whose subdirectories are models, which Load may be asked for.
  void AddRoot(const std::string& directory);
  // AlreadyExists: a model of that name is there.
  absl::Status Add(std::shared_ptr<ServedModel> model);
  // A model that Load can be asked for. AlreadyExists as Add.
  absl::Status AddSource(ModelSource source);

  // --- finding
  // The model of that name and version; version "": the highest that is ready. NotFound names the
  // closest; Unavailable: it is there and not ready.
  absl::StatusOr<std::shared_ptr<ServedModel>> Find(const std::string& name,
                                                    const std::string& version) const;
  std::vector<std::string> Names() const;  // of models with a version that is ready
  // Those of the model that are ready, from low to high.
  std::vector<std::string> Versions(const std::string& name) const;
  std::vector<std::shared_ptr<ServedModel>> Ready() const;
  // All that were ever loaded.
  std::vector<MeasuredModel> Measured() const;
  std::vector<IndexEntry> Index(bool only_ready) const;

  // --- changing
  using Done = std::function<void(absl::Status status)>;
  using ReadRequest = std::function<absl::StatusOr<LoadRequest>()>;
  // Loads the model beside what is there of it, by a thread of the repository, and then takes its
  // place; `done` is called by that thread. On errors, which may have paths, what was there stays.
  // NotFound: no such model; FailedPrecondition: another load or unload came after this one.
  void Load(const std::string& name, ReadRequest read, Done done);
  // Takes the model away from requests that come from now on. Its memory is given back when those
  // under way are done. NotFound: no such model.
  absl::Status Unload(const std::string& name);
  // An error of a load, without the path of the model.
  absl::Status ForClients(const std::string& name, const absl::Status& status) const;
  // Ends loads that wait, and waits for the one under way.
  void End() {
    queue_.End();
    freed_.End();
  }

 private:
  struct Version {
    std::shared_ptr<ServedModel> model;  // null: not ready
    std::weak_ptr<ServedModel> last;     // requests may still have it
    std::string reason;
  };
  struct Entry {
    std::string path;   // "": it was added without one
    int loads = 0;      // that wait or are under way
    uint64_t turn = 0;  // counts loads and unloads
    std::string reason;
    std::map<int64_t, Version> versions;
    std::map<int64_t, std::shared_ptr<ModelStatistics>> statistics;
  };
  using Models = std::vector<std::shared_ptr<ServedModel>>;

  absl::StatusOr<Models> LoadNow(const std::string& name, const ReadRequest& read);
  // The place of the model. NotFound.
  absl::StatusOr<ModelSource> SourceOf(const std::string& name, bool brings_files);
  // The same for members of ensembles, which need not be loaded.
  absl::StatusOr<ModelSource> MemberSource(const std::string& name) const;
  absl::Status Publish(const std::string& name, uint64_t turn, absl::StatusOr<Models> models);
  std::shared_ptr<ModelStatistics> StatisticsOf(const std::string& name, int64_t version);
  // Puts the models in the place of those that are there, which `gone` gets; all or, without
  // memory, nothing.
  static absl::Status Replace(Entry& entry, const Models& models, Models& gone);
  // Makes the versions unavailable that are ready; `gone` gets them, to be freed without the lock.
  static void TakeAway(Entry& entry, const std::string& reason, Models& gone);
  // By a thread of their own: it may take long, and waits for the texts that they generate.
  void Free(Models gone);
  absl::Status UnknownModel(const std::string& name) const;
  static absl::Status NotReady(const std::string& name, const Entry& entry,
                               const std::string& reason);

  SessionLoader load_session_;
  GeneratorLoader load_generator_;
  LogSink log_;
  mutable std::shared_mutex mutex_;
  std::vector<std::string> roots_;        // guarded by mutex_
  std::map<std::string, Entry> entries_;  // guarded by mutex_
  LoadQueue queue_, freed_;
};

}  // namespace onward::serving
