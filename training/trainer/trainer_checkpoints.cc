// Writes a training's checkpoints, and continues from them.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "executors/shared_arena.h"
#include "onward/status.h"
#include "training/checkpoint/checkpoint.h"
#include "training/metrics/metrics.h"
#include "training/trainer/checkpoint_model.h"
#include "training/trainer/same_training.h"
#include "training/trainer/training_loop.h"
#include "training/trainer/training_state.h"

namespace onward::training {
namespace {

// "a checkpoint needs about 12.3 MB, the disk of 'out/checkpoints' has 0.1 MB free".
std::string RoomIn(const std::string& directory, int64_t bytes) {
  const std::string needs =
      absl::StrFormat("a checkpoint needs about %.1f MB", 1e-6 * static_cast<double>(bytes));
  std::error_code error;
  std::filesystem::path at = directory;
  while (!std::filesystem::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  const std::filesystem::space_info space = std::filesystem::space(at.empty() ? "." : at, error);
  if (error) return needs;
  return absl::StrFormat("%s, the disk of '%s' has %.1f MB free", needs, directory,
                         1e-6 * static_cast<double>(space.available));
}

}  // namespace

std::vector<std::string> TrainingLoop::CheckpointDirectories() const {
  std::vector<std::string> directories = {options_.checkpoint_directory};
  if (!options_.second_checkpoint_directory.empty())
    directories.push_back(options_.second_checkpoint_directory);
  return directories;
}

void TrainingLoop::Warn(const std::string& message) const {
  onward::Warn(options_.log, "training", message);
}

void TrainingLoop::Count(std::string_view counter, int64_t amount) const {
  if (options_.counters != nullptr) options_.counters->Named(counter).Add(amount);
}

absl::Status TrainingLoop::OpenCheckpoints() {
  if (options_.checkpoint_directory.empty()) return absl::OkStatus();
  CheckpointOptions options;
  options.directory = options_.checkpoint_directory;
  options.second_directory = options_.second_checkpoint_directory;
  options.keep = config_.checkpoint().keep();
  options.keep_every = config_.checkpoint().keep_every();
  options.continues = options_.resume;
  options.largest_is_best = LargestIsBest(config_.evaluation());
  if (!options_.resume && !options_.overwrite) {
    ONWARD_ASSIGN_OR_RETURN(const auto earlier, ListCheckpoints(CheckpointDirectories()));
    if (!earlier.empty()) {
      return absl::AlreadyExistsError(absl::StrCat(
          "'", absl::StrJoin(CheckpointDirectories(), "' or '"),
          "' has checkpoints of an earlier training, up to step ", earlier.front().step,
          ": resume it, overwrite it, or name another directory"));
    }
  }
  description_ = DescribeTraining(
      config_, options_.directory,
      options_.data_directory.empty() ? options_.directory : options_.data_directory);
  for (const auto& [key, value] : DataNotes())
    description_[absl::StrCat(kCheckpointNotePrefix, key)] = value;
  if (rank() == 0) {
    ONWARD_ASSIGN_OR_RETURN(checkpoints_, CheckpointWriter::Open(options));
  }
  return options_.resume ? Resume() : absl::OkStatus();
}

absl::Status TrainingLoop::Resume() {
  absl::StatusOr<LoadedCheckpoint> loaded = LoadNewestCheckpoint(CheckpointDirectories());
  if (absl::IsNotFound(loaded.status())) return absl::OkStatus();
  if (!loaded.ok()) return loaded.status();
  for (const std::string& damaged : loaded->damaged)
    Warn(absl::StrCat(damaged, "; continuing from ", loaded->path));
  ONWARD_RETURN_IF_ERROR(Annotate(CheckSameTraining(loaded->state.values, description_,
                                                    options_.allow_other_data, options_.log),
                                  absl::StrCat("the checkpoint ", loaded->path)));
  std::map<int64_t, PlateauState> fresh = std::move(progress_.plateaus);
  ONWARD_ASSIGN_OR_RETURN(progress_,
                          RestoreState(std::move(loaded->state), loaded->path, *session_, *step_));
  statistics_of_ = progress_.statistics_of.value_or(-1);
  progress_.plateaus.merge(fresh);  // of schedules that the checkpoint does not know
  saved_step_ = progress_.step;
  return absl::OkStatus();
}

std::optional<BestEvaluation> TrainingLoop::best() const {
  if (!progress_.best || !progress_.best_step) return std::nullopt;
  return BestEvaluation{*progress_.best_step, *progress_.best};
}

bool TrainingLoop::ExportsBest() const {
  return evaluation_loader_ != nullptr && config_.export_().weights() == ExportConfig::BEST;
}

// Where there are checkpoints, the best weights are in one of them.
void TrainingLoop::KeepBest() {
  if (!ExportsBest() || checkpoints_ != nullptr || rank() > 0) return;
  best_weights_ = BestWeights{progress_.step, HasAverage(), {}};
  for (const std::string& name : session_->state_names()) {
    const bool is_weight = std::find(weights_.begin(), weights_.end(), name) != weights_.end();
    if (is_weight || name.starts_with(kAveragePrefix))
      best_weights_->state[name] = *session_->State(name);
  }
}

void TrainingLoop::FindBest() {
  const std::optional<BestEvaluation> found = best();
  if (!ExportsBest() || !found || rank() > 0) return;
  // Those that the session has are not held twice.
  if (checkpoints_ != nullptr || found->step == progress_.step) best_weights_.reset();
  if (checkpoints_ == nullptr || found->step == progress_.step) return;
  const auto warn = [&](const absl::Status& why) {
    Warn(absl::StrCat("the best weights, of step ", found->step,
                      ", are lost: ", std::string(why.message()), "; those of step ",
                      progress_.step, " are exported"));
  };
  arena_->Release();  // the weights take room that no step needs any more
  const auto entries = ListCheckpoints(CheckpointDirectories());
  if (!entries.ok()) return warn(entries.status());
  absl::Status why = absl::NotFoundError("there is no checkpoint of them");
  for (const CheckpointEntry& entry : *entries) {
    if (entry.step != found->step || entry.metric != found->metric) continue;
    absl::StatusOr<TrainingState> state = LoadCheckpoint(entry.path);
    const absl::StatusOr<TrainingProgress> progress =
        state.ok() ? ProgressOf(state->values) : state.status();
    if (progress.ok()) {
      const bool averaged = phases_.evaluate_average.has_value() && progress->averaged > 0;
      best_weights_ = BestWeights{found->step, averaged, std::move(state->tensors)};
      return;
    }
    why = progress.status();
  }
  const auto next = ChooseCheckpoint(CheckpointDirectories(), {CheckpointChoice::kBest, 0},
                                     LargestIsBest(config_.evaluation()));
  const absl::StatusOr<TrainingProgress> progress =
      next.ok() ? ProgressOf(next->state.values) : next.status();
  if (!progress.ok()) return warn(why);
  const bool averaged = phases_.evaluate_average.has_value() && progress->averaged > 0;
  Warn(absl::StrCat("the best weights, of step ", found->step,
                    ", are lost: ", std::string(why.message()), "; those of step ",
                    next->state.step, " are exported, the best that are whole"));
  best_weights_ = BestWeights{next->state.step, averaged, next->state.tensors};
}

void TrainingLoop::SaveCheckpoint(std::optional<double> metric) {
  if (checkpoints_ == nullptr || saved_step_ == progress_.step) return;
  TrainingProgress progress = progress_;
  if (statistics_of_ >= 0) progress.statistics_of = statistics_of_;
  absl::StatusOr<TrainingState> state = ReadState(*session_, *step_, progress);
  if (!state.ok()) return WarnOfCheckpoint(state.status());
  state->metric = metric;
  state->values.insert(description_.begin(), description_.end());
  saved_step_ = progress_.step;
  Count("checkpoint/begun");
  if (const absl::Status before = checkpoints_->Save(*std::move(state)); !before.ok())
    WarnOfCheckpoint(before);
  if (waits_for_checkpoints_) WaitForCheckpoint();
}

void TrainingLoop::WaitForCheckpoint() {
  if (const absl::Status written = checkpoints_->Wait(); !written.ok()) WarnOfCheckpoint(written);
}

void TrainingLoop::WarnOfCheckpoint(const absl::Status& why) const {
  Count("checkpoint/failed");
  Warn(std::string(why.message()));
}

bool TrainingLoop::HasCheckpoint(int64_t step) const {
  const auto entries = ListCheckpoints(CheckpointDirectories());
  return entries.ok() && std::any_of(entries->begin(), entries->end(),
                                     [&](const auto& entry) { return entry.step == step; });
}

// A disk that is full, or that is not there, may be again in a moment.
absl::Status TrainingLoop::SaveLastCheckpoint() {
  if (checkpoints_ == nullptr) return absl::OkStatus();
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(config_.checkpoint().wait_seconds());
  absl::Status status = checkpoints_->Wait();
  if (status.ok() && saved_step_ == progress_.step && !HasCheckpoint(progress_.step))
    status = absl::NotFoundError("the last checkpoint was removed by another program");
  bool told = false;
  while (!status.ok() && Clock::now() < end) {
    if (!std::exchange(told, true)) {
      Warn(absl::StrCat(std::string(status.message()), "; trying again for ",
                        config_.checkpoint().wait_seconds(),
                        " s: ", RoomIn(options_.checkpoint_directory, planned_.state)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    saved_step_ = -1;
    SaveCheckpoint(metric_);
    status = checkpoints_->Wait();
  }
  if (const std::string notice = checkpoints_->TakeNotice(); !notice.empty()) Warn(notice);
  return status;
}

}  // namespace onward::training
