#include "training/trainer/checkpoint_model.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "onward/train_config.h"
#include "training/prepare/load_model.h"
#include "training/step/progress.h"
#include "training/trainer/average_statistics.h"
#include "training/trainer/same_training.h"
#include "training/trainer/trained_model.h"

namespace onward::training {
namespace {

// "step 60 (0.4213), step 40", the newest first.
std::string Listed(const std::vector<CheckpointEntry>& entries) {
  constexpr size_t kShown = 12;
  std::vector<std::string> texts;
  for (const CheckpointEntry& entry : entries) {
    if (texts.size() == kShown) {
      texts.push_back(absl::StrCat("and ", entries.size() - kShown, " more"));
      break;
    }
    texts.push_back(absl::StrCat("step ", entry.step));
    if (entry.metric) absl::StrAppend(&texts.back(), " (metric ", *entry.metric, ")");
  }
  return absl::StrJoin(texts, ", ");
}

absl::StatusOr<LoadedCheckpoint> Choose(const std::vector<std::string>& directories,
                                        const CheckpointChoice& choice, bool largest_is_best) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<CheckpointEntry> entries, ListCheckpoints(directories));
  if (entries.empty())
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in '", directories[0], "'"));
  const auto there = [&] { return absl::StrCat("; there are ", Listed(entries)); };
  std::vector<const CheckpointEntry*> candidates;
  if (choice.kind == CheckpointChoice::kBest) {
    candidates = BestFirst(entries, largest_is_best);
    if (candidates.empty())
      return absl::NotFoundError(
          absl::StrCat("no checkpoint has a metric, as the training made no evaluation", there()));
  }
  for (const CheckpointEntry& entry : entries) {
    if (choice.kind == CheckpointChoice::kLast ||
        (choice.kind == CheckpointChoice::kStep && entry.step == choice.step))
      candidates.push_back(&entry);
  }
  if (candidates.empty())
    return absl::NotFoundError(
        absl::StrCat("there is no checkpoint of step ", choice.step, there()));
  LoadedCheckpoint loaded;
  for (const CheckpointEntry* entry : candidates) {
    absl::StatusOr<TrainingState> state = LoadCheckpoint(entry->path);
    if (state.ok()) {
      loaded.state = *std::move(state);
      loaded.path = entry->path;
      return loaded;
    }
    loaded.damaged.emplace_back(state.status().message());
  }
  return absl::DataLossError(absl::StrCat(absl::StrJoin(loaded.damaged, "; "), there()));
}

// Below which relative paths of the training's data were.
std::string DataDirectoryOf(const LoadedCheckpoint& checkpoint, const std::string& directory) {
  const auto noted = checkpoint.state.values.find("data_directory");
  return noted == checkpoint.state.values.end() ? directory : noted->second;
}

absl::Status Renew(const TrainConfig& config, const std::string& directory,
                   const std::string& data_directory, const LoadedCheckpoint& checkpoint,
                   TrainableModel& model, const LogSink& log) {
  const std::string why =
      absl::StrCat("the checkpoint '", checkpoint.path,
                   "' was written between the evaluations of a uniform average, so that its "
                   "statistics of BatchNormalizations are not the average's");
  Warn(log, "checkpoint",
       absl::StrCat(why, "; they are computed now, in an epoch of the training's data"));
  ONWARD_RETURN_IF_ERROR(CheckSameTraining(checkpoint.state.values,
                                           DescribeTraining(config, directory, data_directory),
                                           /*allow_other_data=*/true, log));
  const absl::Status renewed = RenewStatistics(config, data_directory, model);
  if (renewed.ok()) return renewed;
  return absl::FailedPreconditionError(absl::StrCat(
      why, " and must be computed on the training's data: ", std::string(renewed.message()),
      "; say where the data are (--data-dir), or export a checkpoint that was "
      "evaluated (--checkpoint best)"));
}

}  // namespace

absl::StatusOr<CheckpointChoice> ParseCheckpointChoice(const std::string& text) {
  CheckpointChoice choice;
  if (text == "best") return choice;
  choice.kind = text == "last" ? CheckpointChoice::kLast : CheckpointChoice::kStep;
  if (text == "last" || (absl::SimpleAtoi(text, &choice.step) && choice.step >= 0)) return choice;
  return absl::InvalidArgumentError(
      absl::StrCat("a checkpoint must be best, last or the number of a step, not '", text, "'"));
}

absl::StatusOr<LoadedCheckpoint> ChooseCheckpoint(const std::vector<std::string>& directories,
                                                  const CheckpointChoice& choice,
                                                  bool largest_is_best) {
  absl::StatusOr<LoadedCheckpoint> loaded = Choose(directories, choice, largest_is_best);
  // A training that runs may have removed one since it was listed.
  for (int i = 0; i < 3 && absl::IsDataLoss(loaded.status()); ++i)
    loaded = Choose(directories, choice, largest_is_best);
  return loaded;
}

absl::StatusOr<CheckpointConfigOf> ConfigOfCheckpoint(const LoadedCheckpoint& checkpoint) {
  const auto config = checkpoint.state.values.find("config");
  const auto directory = checkpoint.state.values.find("directory");
  CheckpointConfigOf found;
  if (config == checkpoint.state.values.end() || directory == checkpoint.state.values.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", checkpoint.path, "' does not say which config its training had: name the config"));
  }
  absl::StatusOr<TrainConfig> parsed = ParseTrainConfig(config->second);
  if (!parsed.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", checkpoint.path, "' has a config that an earlier version wrote (",
                     parsed.status().message(),
                     "): name the config, as it is written today, in place of the directory"));
  }
  found.config = *std::move(parsed);
  found.directory = directory->second;
  return found;
}

absl::StatusOr<Model> ModelOfCheckpoint(const TrainConfig& config, const std::string& directory,
                                        const LoadedCheckpoint& checkpoint,
                                        const std::string& data_directory, const LogSink& log) {
  if (config.source_case() == TrainConfig::SOURCE_NOT_SET) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", checkpoint.path, "' is of a training whose model its program gave ",
        "(TrainerOptions::model): resume it in that program, and let Trainer::Export write it"));
  }
  ONWARD_ASSIGN_OR_RETURN(TrainableModel loaded, LoadModel(config, directory));
  ONWARD_ASSIGN_OR_RETURN(const TrainingProgress progress, ProgressOf(checkpoint.state.values));
  const bool averaged = config.has_average() && progress.averaged > 0;
  ONWARD_RETURN_IF_ERROR(Annotate(SetWeights(checkpoint.state.tensors, averaged, loaded),
                                  absl::StrCat("the checkpoint '", checkpoint.path, "' is")));
  ONWARD_ASSIGN_OR_RETURN(const bool stale, HasStaleStatistics(config, progress, loaded));
  if (averaged && stale && !checkpoint.state.metric) {
    std::string data = data_directory;
    if (data.empty()) data = DataDirectoryOf(checkpoint, directory);
    ONWARD_RETURN_IF_ERROR(Renew(config, directory, data, checkpoint, loaded, log));
  }
  ONWARD_RETURN_IF_ERROR(ToInferenceForm(loaded.model));
  std::map<std::string, std::string> notes;
  for (const auto& [key, value] : checkpoint.state.values) {
    if (key.starts_with(kCheckpointNotePrefix))
      notes[key.substr(std::strlen(kCheckpointNotePrefix))] = value;
  }
  SetNotes(config, notes, loaded.model);
  return std::move(loaded.model);
}

}  // namespace onward::training
