// What Trainer writes to checkpoints and goes on from.
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/checkpoint/checkpoint.h"
#include "training/trainer.h"

namespace onward {
namespace {

// What must not change between a training and its continuation: another value is another training.
std::map<std::string, std::string> FixedValues(const TrainConfig& config) {
  return {{"seed", absl::StrCat(config.seed())},
          {"batch_size", absl::StrCat(config.batch_size())},
          {"accumulate", absl::StrCat(config.accumulate())},
          {"optimizer", config.optimizer().name()}};
}

constexpr char kLbfgsPrefix[] = "lbfgs/";

// Takes what LBFGS keeps out of `tensors`: how much it is changes from step to step.
Lbfgs::Tensors TakeLbfgsState(std::map<std::string, Tensor>& tensors) {
  Lbfgs::Tensors state;
  for (auto it = tensors.begin(); it != tensors.end();) {
    const bool is_part = it->first.starts_with(kLbfgsPrefix);
    if (is_part) state[it->first.substr(std::strlen(kLbfgsPrefix))] = it->second.Clone();
    it = is_part ? tensors.erase(it) : std::next(it);
  }
  return state;
}

}  // namespace

void Trainer::Warn(const std::string& message) const {
  if (options_.on_warning != nullptr) options_.on_warning(message);
}

absl::Status Trainer::OpenCheckpoints() {
  if (options_.checkpoint_directory.empty()) return absl::OkStatus();
  CheckpointOptions options;
  options.directory = options_.checkpoint_directory;
  options.keep = config_.checkpoint().keep();
  options.keep_every = config_.checkpoint().keep_every();
  options.continues = options_.resume;
  options.largest_is_best = config_.evaluation().metric() == "accuracy";
  ONWARD_ASSIGN_OR_RETURN(checkpoints_, CheckpointWriter::Open(options));
  return options_.resume ? Resume() : absl::OkStatus();
}

absl::Status Trainer::Resume() {
  absl::StatusOr<LoadedCheckpoint> loaded = LoadNewestCheckpoint(options_.checkpoint_directory);
  if (absl::IsNotFound(loaded.status())) return absl::OkStatus();
  if (!loaded.ok()) return loaded.status();
  for (const std::string& damaged : loaded->damaged)
    Warn(absl::StrCat(damaged, "; going on from ", loaded->path));
  TrainingState& state = loaded->state;
  const Lbfgs::Tensors lbfgs = TakeLbfgsState(state.tensors);
  for (const auto& [name, value] : FixedValues(config_)) {
    const auto it = state.values.find(name);
    if (it == state.values.end() || it->second == value) continue;
    return absl::InvalidArgumentError(absl::StrCat("the checkpoint ", loaded->path, " is of ", name,
                                                   " ", it->second, ", the config has ", value));
  }
  std::map<std::string, Tensor> expected;
  for (const std::string& name : session_->state_names()) {
    ONWARD_ASSIGN_OR_RETURN(expected[name], session_->State(name));
  }
  ONWARD_RETURN_IF_ERROR(Annotate(CheckSameTensors(state, expected), loaded->path));
  if (lbfgs_ != nullptr) ONWARD_RETURN_IF_ERROR(Annotate(lbfgs_->SetState(lbfgs), loaded->path));
  std::map<int64_t, PlateauState> fresh = std::move(progress_.plateaus);
  ONWARD_ASSIGN_OR_RETURN(progress_, ProgressOf(state.values));
  progress_.plateaus.merge(fresh);  // of schedules that the checkpoint does not know
  for (const auto& [name, tensor] : state.tensors)
    ONWARD_RETURN_IF_ERROR(session_->Set(name, tensor.Clone()));
  saved_step_ = progress_.step;
  return absl::OkStatus();
}

void Trainer::SaveCheckpoint(std::optional<double> metric) {
  if (checkpoints_ == nullptr || saved_step_ == progress_.step) return;
  TrainingState state;
  state.step = progress_.step;
  state.metric = metric;
  state.values = TextOf(progress_);
  for (const auto& [name, value] : FixedValues(config_)) state.values[name] = value;
  for (const std::string& name : session_->state_names())
    state.tensors[name] = *session_->State(name);
  if (lbfgs_ != nullptr)
    for (const auto& [name, tensor] : lbfgs_->State()) state.tensors[kLbfgsPrefix + name] = tensor;
  saved_step_ = progress_.step;
  if (const absl::Status before = checkpoints_->Save(std::move(state)); !before.ok())
    Warn(std::string(before.message()));
  if (waits_for_checkpoints_) WaitForCheckpoint();
}

void Trainer::WaitForCheckpoint() {
  if (const absl::Status written = checkpoints_->Wait(); !written.ok())
    Warn(std::string(written.message()));
}

}  // namespace onward
