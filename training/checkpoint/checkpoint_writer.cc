#include "training/checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

// Names of what is not, or no longer, a checkpoint.
constexpr char kUnfinished[] = ".unfinished-";
constexpr char kRemoved[] = ".removed-";

absl::Status SyncDirectory(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", path, "'"));
  absl::Status status;
  if (fsync(descriptor) != 0)
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot make '", path, "' durable"));
  close(descriptor);
  return status;
}

// flock of a file in the directory; the lock goes with the process.
class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  absl::Status Take(const std::string& directory) {
    const std::string path = absl::StrCat(directory, "/.lock");
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", path, "'"));
    // File systems without locks are taken at their user's word.
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("another process writes checkpoints to '", directory, "'"));
  }

 private:
  int descriptor_ = -1;
};

class ThreadedWriter : public CheckpointWriter {
 public:
  explicit ThreadedWriter(const CheckpointOptions& options) : options_(options) {}
  ~ThreadedWriter() override {
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot create '", options_.directory, "': ", error.message()));
    }
    ONWARD_RETURN_IF_ERROR(lock_.Take(options_.directory));
    for (const auto& entry : fs::directory_iterator(options_.directory, error)) {
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, kUnfinished) || absl::StartsWith(name, kRemoved))
        fs::remove_all(entry.path(), error);
    }
    ONWARD_ASSIGN_OR_RETURN(kept_, ListCheckpoints(options_.directory));
    next_ = kept_.empty() ? 0 : kept_.front().sequence + 1;
    if (options_.continues) return absl::OkStatus();
    first_ = next_;
    for (CheckpointEntry& entry : kept_) entry.metric.reset();
    return absl::OkStatus();
  }

  absl::Status Save(TrainingState state) override {
    const absl::Status before = Wait();
    thread_ = std::thread([this, state = std::move(state)]() mutable {
      try {
        status_ = Write(state);
      } catch (const std::exception& error) {
        status_ = absl::InternalError(error.what());
      }
    });
    return before;
  }

  absl::Status Wait() override {
    if (thread_.joinable()) thread_.join();
    return std::exchange(status_, absl::OkStatus());
  }

 private:
  absl::Status Write(const TrainingState& state) {
    const std::string unfinished = Path(absl::StrCat(kUnfinished, next_));
    std::error_code error;
    fs::remove_all(unfinished, error);
    fs::create_directory(unfinished, error);
    absl::Status status = error ? absl::InvalidArgumentError(absl::StrCat(
                                      "cannot create '", unfinished, "': ", error.message()))
                                : WriteCheckpointFiles(state, unfinished);
    if (status.ok()) status = SyncDirectory(unfinished);
    char name[64];
    std::snprintf(name, sizeof(name), "%06lld-step-%lld", static_cast<long long>(next_),
                  static_cast<long long>(state.step));
    if (status.ok() && rename(unfinished.c_str(), Path(name).c_str()) != 0)
      status = absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", Path(name), "'"));
    if (!status.ok()) {
      fs::remove_all(unfinished, error);
      return Annotate(status, "the checkpoint was not written:");
    }
    kept_.insert(kept_.begin(), {Path(name), next_++, state.step, state.metric});
    // Older ones go only after the new one is there for good.
    ONWARD_RETURN_IF_ERROR(SyncDirectory(options_.directory));
    return RemoveOld();
  }

  absl::Status RemoveOld() {
    const CheckpointEntry* kept_for_metric =
        options_.keep_best ? BestCheckpoint(kept_, options_.largest_is_best) : nullptr;
    const std::string best = kept_for_metric == nullptr ? "" : kept_for_metric->path;
    for (auto it = kept_.begin(); it != kept_.end();) {
      const bool stays = it->sequence >= first_ &&
                         (it - kept_.begin() < std::max(1, options_.keep) || it->path == best ||
                          (options_.keep_every > 0 && it->step % options_.keep_every == 0));
      if (stays) {
        ++it;
        continue;
      }
      // Under another name first, so that a half removed one is not taken for a checkpoint.
      const std::string removed = Path(absl::StrCat(kRemoved, it->sequence));
      std::error_code error;
      fs::rename(it->path, removed, error);
      if (!error) fs::remove_all(removed, error);
      if (error && fs::exists(it->path)) {
        return absl::InvalidArgumentError(
            absl::StrCat("cannot remove '", it->path, "': ", error.message()));
      }
      it = kept_.erase(it);
    }
    return absl::OkStatus();
  }

  std::string Path(std::string_view name) const {
    return absl::StrCat(options_.directory, "/", std::string(name));
  }

  CheckpointOptions options_;
  Lock lock_;
  // Of the writing thread while there is one.
  std::vector<CheckpointEntry> kept_;  // the newest first
  int64_t next_ = 0;
  int64_t first_ = 0;  // of this training
  absl::Status status_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Open(
    const CheckpointOptions& options) {
  auto writer = std::make_unique<ThreadedWriter>(options);
  ONWARD_RETURN_IF_ERROR(writer->Start());
  return writer;
}

}  // namespace onward
