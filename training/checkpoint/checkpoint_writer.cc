#include "training/checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::training {
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

absl::Status InUse(const std::string& directory) {
  return absl::FailedPreconditionError(
      absl::StrCat("another process writes checkpoints to '", directory,
                   "': wait for its end or stop it, or train into another directory"));
}

// flock of a file in the directory; the lock goes with the process.
class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { Release(); }

  absl::Status Take(const std::string& directory) {
    Release();
    const std::string path = PathIn(directory);
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", path, "'"));
    // A process that looks whether there is a lock holds one for a moment.
    for (int i = 0; i < 20; ++i) {
      // File systems without locks are taken at their user's word.
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return absl::OkStatus();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    Release();
    return InUse(directory);
  }

  // Not so where somebody removed the directory, and perhaps made another of its name.
  bool IsHeldIn(const std::string& directory) const {
    struct stat held, there;
    return descriptor_ >= 0 && fstat(descriptor_, &held) == 0 &&
           stat(PathIn(directory).c_str(), &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
  }

 private:
  static std::string PathIn(const std::string& directory) {
    return absl::StrCat(directory, "/.lock");
  }
  void Release() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  }

  int descriptor_ = -1;
};

// Full disks and quotas.
bool LacksRoom(const absl::Status& status) { return absl::IsResourceExhausted(status); }

// A directory of checkpoints that this process alone writes to.
struct Place {
  std::string directory;
  Lock lock;

  absl::Status Open() {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) {
      return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create '", directory, "'"));
    }
    ONWARD_RETURN_IF_ERROR(lock.Take(directory));
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, kUnfinished) || absl::StartsWith(name, kRemoved))
        fs::remove_all(entry.path(), error);
    }
    return absl::OkStatus();
  }

  std::string Path(std::string_view name) const {
    return absl::StrCat(directory, "/", std::string(name));
  }

  // The checkpoint's path.
  absl::StatusOr<std::string> Write(const TrainingState& state, int64_t sequence) {
    if (!lock.IsHeldIn(directory)) ONWARD_RETURN_IF_ERROR(Open());
    const std::string unfinished = Path(absl::StrCat(kUnfinished, sequence));
    std::error_code error;
    fs::remove_all(unfinished, error);
    fs::create_directory(unfinished, error);
    absl::Status status =
        error ? absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create '", unfinished, "'"))
              : WriteCheckpointFiles(state, unfinished);
    if (status.ok()) status = SyncDirectory(unfinished);
    char name[64];
    std::snprintf(name, sizeof(name), "%06lld-step-%lld", static_cast<long long>(sequence),
                  static_cast<long long>(state.step));
    if (status.ok() && rename(unfinished.c_str(), Path(name).c_str()) != 0)
      status = absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", Path(name), "'"));
    if (status.ok()) return Path(name);
    fs::remove_all(unfinished, error);
    return status;
  }
};

// Under another name first, so that a half removed one is not taken for a checkpoint.
absl::Status Remove(const CheckpointEntry& entry) {
  const fs::path removed =
      fs::path(entry.path).parent_path() / absl::StrCat(kRemoved, entry.sequence);
  std::error_code error;
  fs::rename(entry.path, removed, error);
  if (!error) fs::remove_all(removed, error);
  if (!error || !fs::exists(entry.path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot remove '", entry.path, "': ", error.message()));
}

class ThreadedWriter : public CheckpointWriter {
 public:
  explicit ThreadedWriter(const CheckpointOptions& options) : options_(options) {
    first_place_.directory = options.directory;
    second_place_.directory = options.second_directory;
  }
  ~ThreadedWriter() override {
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    ONWARD_RETURN_IF_ERROR(first_place_.Open());
    ONWARD_ASSIGN_OR_RETURN(kept_, ListCheckpoints(Directories()));
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

  bool GiveWay() override {
    if (thread_.joinable()) thread_.join();
    return GiveWayIn(options_.directory);
  }

  std::string TakeNotice() override {
    if (thread_.joinable()) thread_.join();
    return std::exchange(notice_, "");
  }

 private:
  std::vector<std::string> Directories() const {
    std::vector<std::string> directories = {options_.directory};
    if (!options_.second_directory.empty()) directories.push_back(options_.second_directory);
    return directories;
  }

  absl::Status Write(const TrainingState& state) {
    // Checkpoints that somebody removed, with their directory or without, are not kept.
    std::erase_if(kept_, [](const CheckpointEntry& entry) {
      std::error_code error;
      return !fs::exists(entry.path, error);
    });
    absl::StatusOr<std::string> path = first_place_.Write(state, next_);
    int removed = 0;
    for (; LacksRoom(path.status()) && GiveWayIn(options_.directory); ++removed)
      path = first_place_.Write(state, next_);
    if (removed > 0)
      notice_ = absl::StrCat(removed, " older checkpoint", removed == 1 ? "" : "s",
                             " gave way to that of step ", state.step, ": the disk of '",
                             options_.directory, "' is full");
    if (!path.ok() && !options_.second_directory.empty()) {
      const absl::Status reason = path.status();
      path = second_place_.Write(state, next_);
      while (LacksRoom(path.status()) && GiveWayIn(options_.second_directory))
        path = second_place_.Write(state, next_);
      if (path.ok())
        notice_ = absl::StrCat(std::string(reason.message()), "; the checkpoint of step ",
                               state.step, " is '", *path, "'");
      else
        path = absl::Status(path.status().code(),
                            absl::StrCat(std::string(reason.message()),
                                         ", nor there: ", std::string(path.status().message())));
    }
    if (!path.ok()) return Annotate(path.status(), "the checkpoint was not written:");
    kept_.insert(kept_.begin(), {*path, next_++, state.step, state.metric});
    whole_.insert(*path);
    // Older ones go only after the new one is there for good.
    ONWARD_RETURN_IF_ERROR(SyncDirectory(fs::path(*path).parent_path()));
    return RemoveOld();
  }

  // The best one that is whole. One that is damaged is read once: it has no metric from then on.
  std::string BestPath() {
    while (options_.keep_best) {
      const CheckpointEntry* const best = BestCheckpoint(kept_, options_.largest_is_best);
      if (best == nullptr) break;
      if (whole_.contains(best->path) || LoadCheckpoint(best->path).ok())
        return *whole_.insert(best->path).first;
      kept_[static_cast<size_t>(best - kept_.data())].metric.reset();
    }
    return "";
  }

  // Removes the oldest one in `directory` that is neither the best nor the newest whole one.
  bool GiveWayIn(const std::string& directory) {
    const auto whole = std::find_if(kept_.begin(), kept_.end(), [](const CheckpointEntry& entry) {
      return LoadCheckpoint(entry.path).ok();
    });
    const std::string newest = whole == kept_.end() ? "" : whole->path, best = BestPath();
    for (auto it = kept_.rbegin(); it != kept_.rend(); ++it) {
      const bool here =
          fs::path(it->path).parent_path() == (fs::path(directory) / "x").parent_path();
      if (!here || it->path == newest || it->path == best || !Remove(*it).ok()) continue;
      kept_.erase(std::next(it).base());
      return true;
    }
    return false;
  }

  absl::Status RemoveOld() {
    const std::string best = BestPath();
    for (auto it = kept_.begin(); it != kept_.end();) {
      const bool stays = it->sequence >= first_ &&
                         (it - kept_.begin() < std::max(1, options_.keep) || it->path == best ||
                          (options_.keep_every > 0 && it->step % options_.keep_every == 0));
      if (stays) {
        ++it;
        continue;
      }
      ONWARD_RETURN_IF_ERROR(Remove(*it));
      it = kept_.erase(it);
    }
    return absl::OkStatus();
  }

  CheckpointOptions options_;
  // Used by the writing thread while there is one.
  Place first_place_, second_place_;
  std::vector<CheckpointEntry> kept_;  // the newest first
  std::set<std::string> whole_;        // paths of those that were written or read since the start
  int64_t next_ = 0;
  int64_t first_ = 0;  // of this training
  absl::Status status_;
  std::string notice_;
  std::thread thread_;
};

}  // namespace

absl::Status CheckNotInUse(const std::string& directory) {
  const int descriptor = open(absl::StrCat(directory, "/.lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return absl::OkStatus();
  const bool in_use = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return in_use ? InUse(directory) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Open(
    const CheckpointOptions& options) {
  auto writer = std::make_unique<ThreadedWriter>(options);
  ONWARD_RETURN_IF_ERROR(writer->Start());
  return writer;
}

}  // namespace onward::training
