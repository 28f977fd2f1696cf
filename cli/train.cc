// onward train: trains or fine-tunes as a configuration says.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupts.h"
#include "cli/op_table.h"
#include "cli/output_directory.h"
#include "cli/parameter_choices.h"
#include "cli/ranks.h"
#include "cli/train_options.h"
#include "cli/train_progress.h"
#include "cli/train_records.h"
#include "cli/write_vocabulary.h"
#include "graph/base/byte_text.h"
#include "onward/nn/parameters.h"
#include "onward/status.h"
#include "onward/training.h"
#include "training/data/sources.h"
#include "training/metrics/metrics.h"
#include "training/rewrite/loss_scale.h"

namespace onward::cli {
namespace {

struct TrainFlags {
  std::string config;
  std::vector<std::string> set;
  std::string output_dir, second_dir, data_dir, profile;
  int profile_from = 1, profile_batches = 10;
  bool resume = false, overwrite = false, allow_other_data = false;
};

void ShowEvaluation(const EvaluationReport& report, std::FILE* to) {
  std::string line =
      absl::StrFormat("evaluation after step %d (%d epoch%s): loss %.4f", report.step, report.epoch,
                      report.epoch == 1 ? "" : "s", report.evaluation.loss);
  if (const auto accuracy = report.evaluation.accuracy())
    absl::StrAppendFormat(&line, ", accuracy %.2f %%", 100 * *accuracy);
  for (const auto& [name, value] : report.evaluation.metrics)
    absl::StrAppend(&line, ", ", training::MetricText(name, value));
  std::fprintf(to, "%s%s\n", line.c_str(), report.best ? ", the best so far" : "");
  std::fflush(to);
}

// Name, shape, whether it is trained and why, and how it started, of every parameter.
absl::StatusOr<std::string> ParametersOf(const Trainer& trainer) {
  ONWARD_ASSIGN_OR_RETURN(const Model model, trainer.TrainedModel());
  std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  ShowChoices(trainer.choices(), parameters);
  return nn::ParameterTable(parameters);
}

// "3.2 MB of state, 10.0 MB for steps and evaluations".
std::string MemoryText(const TrainingMemory& memory) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t bytes, const char* what) {
    if (bytes > 0) parts.push_back(absl::StrCat(BytesText(bytes), " ", what));
  };
  add(memory.state, "of state");
  add(memory.held - memory.state, "of frozen and packed weights, data and plans");
  add(memory.arena + memory.outputs, "for steps and evaluations");
  add(memory.plans, "of plans for batches of other sizes");
  add(memory.copies, "of copied state");
  add(memory.optimizer, "of LBFGS' history");
  add(memory.batches, "of batches");
  add(memory.measured, "sized by data, as the largest batch measured");
  return absl::StrJoin(parts, ", ");
}

// The nodes of a step that exchange tensors with the other ranks.
void ShowAllReduces(const Trainer& trainer) {
  for (const NodeExplanation& node : trainer.ExplainStep())
    if (absl::StartsWith(node.kernel, "all_reduce"))
      std::fprintf(stderr, "  %s  %s %s\n", node.node.c_str(), node.provider.c_str(),
                   node.kernel.c_str());
}

// Prints the training and where it begins, on stderr.
absl::Status Announce(const Trainer& trainer, const TrainConfig& config, const TrainFlags& options,
                      const CommonOptions& common, const Communicator* ranks) {
  const TrainingMemory& memory = trainer.planned_memory();
  std::fprintf(stderr, "%s\n", ChoiceSummary(trainer.choices()).c_str());
  std::fprintf(stderr, "the training is planned in %s of memory: %s%s\n",
               BytesText(memory.total()).c_str(), MemoryText(memory).c_str(),
               trainer.recomputed_segments() == 0
                   ? ""
                   : absl::StrCat("; ", trainer.recomputed_segments(),
                                  " parts of the forward pass are computed again")
                         .c_str());
  if (ranks != nullptr) {
    std::fprintf(stderr, "%d ranks train together, each on its share of the %lld rows of a batch\n",
                 ranks->size(), static_cast<long long>(config.batch_size()));
  }
  if (config.deterministic()) {
    std::fprintf(
        stderr,
        "deterministic: without cost, as there is nothing to switch off. Kernels of the cpu split "
        "their work and order their sums by shapes alone, for any number of threads; the same "
        "kernels run without this option\n");
  }
  if (config.precision().autocast() == PrecisionConfig::FLOAT16 &&
      training::SessionPrecision(config) != Precision::kStrict) {
    std::fprintf(stderr,
                 "float16: the cpu computes in float32 between what autocast rounds, so that "
                 "nothing overflows where a GPU's float16 would; --precision strict computes in "
                 "float16\n");
  }
  if (common.verbose && ranks != nullptr) ShowAllReduces(trainer);
  if (common.verbose) {
    ONWARD_ASSIGN_OR_RETURN(const std::string table, ParametersOf(trainer));
    std::fputs(table.c_str(), stderr);
  }
  if (options.resume) {
    std::fprintf(stderr, "resuming after step %lld of %lld\n",
                 static_cast<long long>(trainer.steps_done()),
                 static_cast<long long>(trainer.total_steps()));
  }
  return absl::OkStatus();
}

absl::Status WriteModels(const Trainer& trainer, const TrainConfig& config,
                         const std::string& data_directory, const std::filesystem::path& output) {
  ONWARD_RETURN_IF_ERROR(trainer.Export(output / "model.onnx"));
  if (config.export_().training_step())
    ONWARD_RETURN_IF_ERROR(trainer.ExportStep(output / "training_step.onnx"));
  ONWARD_RETURN_IF_ERROR(WriteVocabulary(config, data_directory, output));
  return absl::OkStatus();
}

absl::Status WriteProfile(Trainer& trainer, const TrainFlags& options) {
  ONWARD_RETURN_IF_ERROR(trainer.WriteProfile(options.profile));
  const std::optional<MemoryPeak> peak = trainer.RecordedPeak();
  if (!peak) {
    std::fprintf(stderr, "warning: the training ended before batch %d, and its profile is empty\n",
                 options.profile_from);
    return absl::OkStatus();
  }
  std::fprintf(stderr,
               "the profile of batches %d to %d is %s; values and scratch of a step take %s at "
               "most, while %s runs, beside %s of state\n",
               options.profile_from, options.profile_from + options.profile_batches - 1,
               options.profile.c_str(), BytesText(peak->bytes).c_str(), peak->node.c_str(),
               BytesText(trainer.planned_memory().state).c_str());
  std::fprintf(stderr, "%s", OpTableText(OpTimesOf(trainer.RecordedSteps())).c_str());
  return absl::OkStatus();
}

const char* EndName(TrainingEnd end) {
  switch (end) {
    case TrainingEnd::kSteps:
      return "steps";
    case TrainingEnd::kPatience:
      return "patience";
    case TrainingEnd::kStopped:
      return "interrupted";
  }
  return "";
}

// A training, from its config to its model.
class Training {
 public:
  Training(const TrainFlags& options, const CommonOptions& common)
      : options_(options), common_(common) {}

  absl::Status Run() {
    IgnoreBrokenPipes();
    ONWARD_ASSIGN_OR_RETURN(ranks_, JoinRanks());
    const absl::Status status = IsFirst() ? RunFirst() : RunOther();
    return ranks_ == nullptr ? status : ReportedError(*ranks_, status);
  }

 private:
  bool IsFirst() const { return ranks_ == nullptr || ranks_->rank() == 0; }

  // Trains as a rank that says and writes nothing.
  absl::Status RunOther() {
    ONWARD_RETURN_IF_ERROR(ReadConfig());
    ONWARD_ASSIGN_OR_RETURN(trainer_,
                            Trainer::Create(config_, TrainerOptionsOf(ConfigDirectory())));
    NoteInterrupts(/*announce=*/false);
    ONWARD_RETURN_IF_ERROR(trainer_->Run());
    ONWARD_RETURN_IF_ERROR(ShareSignal());
    if (trainer_->end() != TrainingEnd::kStopped) return absl::OkStatus();
    return ErrorWithExitCode("", kInterrupted + signal_);
  }

  absl::Status RunFirst() {
    ONWARD_RETURN_IF_ERROR(Open());
    ONWARD_RETURN_IF_ERROR(Announce(*trainer_, config_, options_, common_, ranks_.get()));
    if (!options_.overwrite) ONWARD_RETURN_IF_ERROR(BeginRecords());
    progress_ = std::make_unique<TrainProgress>(trainer_->total_steps());
    NoteInterrupts();
    ONWARD_RETURN_IF_ERROR(trainer_->Run());
    ONWARD_RETURN_IF_ERROR(ShareSignal());
    Record(BeginRecords());
    ONWARD_RETURN_IF_ERROR(SaveModels());
    Record(records_.Close());
    if (!common_.json && ShowsConfusion(config_)) records_.PrintConfusion(trainer_->class_names());
    PrintOutcome();
    if (!options_.profile.empty()) ONWARD_RETURN_IF_ERROR(WriteProfile(*trainer_, options_));
    if (trainer_->end() != TrainingEnd::kStopped) return absl::OkStatus();
    if (!trainer_->checkpoint_status().ok()) {
      return Annotate(trainer_->checkpoint_status(),
                      absl::StrCat("interrupted after step ", trainer_->steps_done(),
                                   ", which cannot be resumed:"));
    }
    return ErrorWithExitCode("", kInterrupted + signal_);
  }

  // The signal that ended the training, whichever rank it came to.
  absl::Status ShareSignal() {
    signal_ = Interrupted();
    if (ranks_ == nullptr) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> signals, AllGather(*ranks_, signal_));
    signal_ = static_cast<int>(*std::max_element(signals.begin(), signals.end()));
    return absl::OkStatus();
  }

  std::filesystem::path ConfigDirectory() const {
    return std::filesystem::path(options_.config).parent_path();
  }
  OutputOptions To() const {
    return {options_.config, options_.output_dir, options_.data_dir, options_.resume,
            options_.overwrite};
  }

  absl::Status ReadConfig() {
    ONWARD_ASSIGN_OR_RETURN(config_, ReadTrainConfig(options_.config, options_.set));
    ONWARD_RETURN_IF_ERROR(ApplyCommonOptions(common_, config_));
    ONWARD_ASSIGN_OR_RETURN(output_, OutputDirectoryOf(config_, To()));
    second_ = options_.second_dir;
    if (second_.empty() && !config_.checkpoint().second_dir().empty())
      second_ = ConfigDirectory() / config_.checkpoint().second_dir();
    return absl::OkStatus();
  }

  absl::Status Open() {
    ONWARD_RETURN_IF_ERROR(ReadConfig());
    ONWARD_RETURN_IF_ERROR(CheckOutputDirectory(output_, config_, To()));
    if (!second_.empty()) ONWARD_RETURN_IF_ERROR(CheckSecondDirectory(second_, To()));
    ONWARD_RETURN_IF_ERROR(MakeOutputDirectory(output_));
    data_directory_ = options_.data_dir.empty() ? ConfigDirectory().string() : options_.data_dir;
    ONWARD_ASSIGN_OR_RETURN(trainer_,
                            Trainer::Create(config_, TrainerOptionsOf(ConfigDirectory())));
    return absl::OkStatus();
  }

  TrainerOptions TrainerOptionsOf(const std::string& directory) {
    TrainerOptions made;
    made.directory = directory;
    made.data_directory = options_.data_dir;
    made.checkpoint_directory = output_ / "checkpoints";
    if (!second_.empty()) made.second_checkpoint_directory = second_ / "checkpoints";
    made.resume = options_.resume;
    made.overwrite = options_.overwrite;
    made.allow_other_data = options_.allow_other_data;
    made.profiled_batches = options_.profile.empty() ? 0 : options_.profile_batches;
    made.profile_skip = options_.profile_from - 1;
    made.interrupted = [] { return Interrupted() != 0; };
    made.communicator = ranks_;
    if (ranks_ != nullptr) made.threads = ThreadsOfRank();
    if (!IsFirst()) return made;
    made.on_step = [this](const StepReport& report) {
      Record(BeginRecords());
      Record(records_.Step(report));
      progress_->Step(report);
    };
    made.on_evaluation = [this](const EvaluationReport& report) {
      Record(records_.Evaluation(report));
      ShowEvaluation(report, common_.json ? stderr : stdout);
    };
    made.log = LogToStandardError();
    if (common_.verbose) made.counters = common_.counters;
    return made;
  }

  // An earlier training that is overwritten stays untouched until this one has made a step.
  absl::Status BeginRecords() {
    if (std::exchange(begun_, true)) return absl::OkStatus();
    RemoveUnfinished(output_);
    if (options_.overwrite) ONWARD_RETURN_IF_ERROR(RemoveTraining(output_));
    if (options_.overwrite && !second_.empty()) ONWARD_RETURN_IF_ERROR(RemoveTraining(second_));
    return records_.Open(output_, config_.log(), options_.overwrite ? 0 : trainer_->steps_done(),
                         !trainer_->evaluation_due());
  }

  // A disk that is full ends neither the training nor what it leaves.
  void Record(const absl::Status& status) {
    if (status.ok() || std::exchange(warned_, true)) return;
    std::fprintf(stderr, "warning: %s; the training continues without it\n",
                 std::string(status.message()).c_str());
  }

  absl::Status SaveModelsTo(const std::filesystem::path& place) {
    ONWARD_RETURN_IF_ERROR(MakeOutputDirectory(place));
    ONWARD_RETURN_IF_ERROR(WriteModels(*trainer_, config_, data_directory_, place));
    model_ = place / "model.onnx";
    return absl::OkStatus();
  }

  // On a full disk old checkpoints give way; then the second directory has the models, or the disk
  // gets some time.
  absl::Status SaveModels() {
    using Clock = std::chrono::steady_clock;
    const int64_t seconds = config_.checkpoint().wait_seconds();
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    absl::Status status = SaveModelsTo(output_);
    // A model that cannot be written at all does not need room.
    if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
        absl::IsUnimplemented(status))
      return status;
    for (bool told = false; !status.ok();) {
      if (absl::IsResourceExhausted(status) && trainer_->RemoveOldCheckpoint()) {
        status = SaveModelsTo(output_);
        continue;
      }
      if (!second_.empty() && SaveModelsTo(second_).ok()) {
        std::fprintf(stderr, "warning: %s; the model is '%s'\n",
                     std::string(status.message()).c_str(), model_.c_str());
        return absl::OkStatus();
      }
      if (Clock::now() >= end) break;
      if (!std::exchange(told, true)) {
        std::fprintf(stderr, "warning: %s; trying again for %lld s: free some room there\n",
                     std::string(status.message()).c_str(), static_cast<long long>(seconds));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      status = SaveModelsTo(output_);
    }
    if (status.ok()) return status;
    const bool saved = trainer_->checkpoint_status().ok();
    return Annotate(
        status,
        absl::StrCat(
            "the trained model was not written, ",
            saved ? absl::StrCat("but the checkpoint of step ", trainer_->steps_done(),
                                 " has its weights: once there is room, --resume writes it:")
                  : absl::StrCat("nor was the checkpoint of step ", trainer_->steps_done(),
                                 ": what was trained since the checkpoint before it is lost:")));
  }

  void PrintOutcome() const {
    if (common_.json) {
      nlohmann::json document = records_.Summary();
      document["steps"] = trainer_->steps_done();
      document["total_steps"] = trainer_->total_steps();
      document["model"] = model_;
      document["planned_bytes"] = trainer_->planned_bytes();
      document["peak_bytes"] = trainer_->peak_bytes();
      if (ShowsConfusion(config_))
        document.update(records_.ConfusionSummary(trainer_->class_names()));
      document["model_step"] = trainer_->exported_step();
      if (const auto best = trainer_->best())
        document["best"] = {{"step", best->step}, {config_.evaluation().metric(), best->metric}};
      document["end"] = EndName(trainer_->end());
      std::printf("%s\n",
                  document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      return;
    }
    std::fprintf(stderr, "peak of memory: %s (planned: %s)\n",
                 BytesText(trainer_->peak_bytes()).c_str(),
                 BytesText(trainer_->planned_bytes()).c_str());
    std::printf("%lld of %lld steps%s%s; the trained model is %s%s\n",
                static_cast<long long>(trainer_->steps_done()),
                static_cast<long long>(trainer_->total_steps()), records_.LeftOut().c_str(),
                WhyItEnded().c_str(), model_.c_str(), WhichWeights().c_str());
  }

  std::string WhyItEnded() const {
    const EvaluationConfig& evaluation = config_.evaluation();
    if (trainer_->end() == TrainingEnd::kStopped) return " (interrupted)";
    if (trainer_->end() != TrainingEnd::kPatience) return "";
    return absl::StrFormat(" (ended early: the %s was not better than its best in %d evaluation%s)",
                           evaluation.metric(), evaluation.patience(),
                           evaluation.patience() == 1 ? "" : "s");
  }

  std::string WhichWeights() const {
    const std::optional<BestEvaluation> best = trainer_->best();
    if (!best) return "";
    const std::string value = training::MetricText(config_.evaluation().metric(), best->metric);
    if (trainer_->exported_step() == best->step)
      return absl::StrCat(", of step ", best->step, ", the best (", value, ")");
    return absl::StrCat(", of step ", trainer_->exported_step(), "; the best was step ", best->step,
                        " (", value, ")");
  }

  const TrainFlags& options_;
  const CommonOptions& common_;
  TrainConfig config_;
  std::filesystem::path output_, second_;
  std::filesystem::path model_;  // once it is written
  std::string data_directory_;
  TrainRecords records_;
  std::unique_ptr<TrainProgress> progress_;
  std::shared_ptr<Communicator> ranks_;  // null: one process
  std::unique_ptr<Trainer> trainer_;
  int signal_ = 0;  // that ended the training
  bool begun_ = false, warned_ = false;
};

}  // namespace

void AddTrain(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<TrainFlags>();
  Command command = NewCommand(line, common, "train", "Trains or fine-tunes a model",
                               "onward train examples/mnist/train.textproto --output-dir out");
  command.Option("config", options->config, "onward.TrainConfig as .textproto or .json",
                 {.required = true});
  command.Option("--set", options->set,
                 "overrides of the config, as optimizer.adamw.lr=0.01; may be repeated");
  command.Option("--output-dir", options->output_dir,
                 "where metrics, checkpoints and the trained model go (default: the config's)");
  command.Option("--second-dir", options->second_dir,
                 "where checkpoints and the model go that find no room in the output directory");
  command.Option("--data-dir", options->data_dir,
                 "relative paths of data are below it (default: the config's directory)");
  command.Option("--profile", options->profile,
                 "write a Chrome trace of some batches: what ran, how much memory it needed");
  command.Option("--profile-from", options->profile_from,
                 "the first batch of it, from 1 (default: 1)", {.positive = true});
  command.Option("--profile-batches", options->profile_batches, "how many (default: 10)",
                 {.positive = true});
  command.Flag("--resume", options->resume,
               "continue from the newest checkpoint in the output directory, bit for bit");
  command.Flag("--allow-other-data", options->allow_other_data,
               "resume although the data are not those that the training had");
  command.Flag("--overwrite", options->overwrite,
               "replace the training that the output directory holds, once this one makes steps",
               "--resume");
  command.Do([=, &common] { return Training(*options, common).Run(); });
}

}  // namespace onward::cli
