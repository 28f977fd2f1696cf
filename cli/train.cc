// onward train: trains or fine-tunes as a configuration says.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/parameter_choices.h"
#include "cli/train_options.h"
#include "cli/train_records.h"
#include "graph/base/status.h"
#include "graph/builder/nn/parameters.h"
#include "training/config/read_config.h"
#include "training/data/sources.h"
#include "training/trainer.h"

namespace onward::cli {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> set;
  std::string output_dir, data_dir, profile;
  bool resume = false;
};

// "3:07" or "1:02:40".
std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

// A line that is written over again on a terminal, now and then one in a file.
class Progress {
 public:
  explicit Progress(int64_t total) : total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

  void Step(const StepReport& report) {
    mean_ = steps_ == 0 ? report.loss : 0.98 * mean_ + 0.02 * report.loss;
    ++steps_;
    seconds_ += report.seconds;
    examples_ += report.examples;
    const bool last = report.step == total_;
    if (!last && seconds_ < shown_ + (terminal_ ? 0.2 : 5)) return;
    shown_ = seconds_;
    const double left =
        seconds_ / static_cast<double>(steps_) * static_cast<double>(total_ - report.step);
    std::fprintf(stderr,
                 "%sstep %lld/%lld  epoch %lld  loss %.4f  lr %.3g  %.0f examples/s  ETA %s%s",
                 terminal_ ? "\r\033[K" : "", static_cast<long long>(report.step),
                 static_cast<long long>(total_), static_cast<long long>(report.epoch), mean_,
                 report.rate, static_cast<double>(examples_) / seconds_, Duration(left).c_str(),
                 terminal_ && !last ? "" : "\n");
  }

 private:
  const int64_t total_;
  const bool terminal_;
  int64_t steps_ = 0, examples_ = 0;
  double mean_ = 0, seconds_ = 0, shown_ = -10;
};

void ShowEvaluation(const EvaluationReport& report, std::FILE* to) {
  std::string line = absl::StrFormat("evaluation after step %d (%d epochs): loss %.4f", report.step,
                                     report.epoch, report.evaluation.loss);
  if (const auto accuracy = report.evaluation.accuracy())
    absl::StrAppendFormat(&line, ", accuracy %.2f %%", 100 * *accuracy);
  std::fprintf(to, "%s%s\n", line.c_str(), report.best ? ", the best so far" : "");
  std::fflush(to);
}

// The vocabulary that decodes what a model of text generates, beside the model; a text of numbers
// has none.
absl::Status WriteVocabulary(const TrainConfig& config, const std::string& directory,
                             const std::filesystem::path& output) {
  const TextData& text = config.data().text();
  if (!config.data().has_text() || text.tokens() == TextData::UINT16 ||
      text.tokens() == TextData::UINT32)
    return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const Vocabulary vocabulary, VocabularyOf(text, directory));
  return vocabulary.Write(output / "vocabulary.txt");
}

// Name, shape, whether it is trained and why, and how it started, of every parameter.
absl::StatusOr<std::string> ParametersOf(const Trainer& trainer) {
  ONWARD_ASSIGN_OR_RETURN(const Model model, trainer.TrainedModel());
  std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  ShowChoices(trainer.choices(), parameters);
  return nn::ParameterTable(parameters);
}

// "640 bytes", "12.5 kB", "3.2 MB".
std::string BytesText(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 10000) return absl::StrCat(bytes, " bytes");
  return bytes < 1000000 ? absl::StrFormat("%.1f kB", number * 1e-3)
                         : absl::StrFormat("%.1f MB", number * 1e-6);
}

// What the training is and where it begins, on stderr.
absl::Status Announce(const Trainer& trainer, const TrainConfig& config, const Options& options,
                      const CommonOptions& common) {
  std::fprintf(stderr, "%s\n", ChoiceSummary(trainer.choices()).c_str());
  std::fprintf(stderr, "a step is planned in %s, %s of them state%s\n",
               BytesText(trainer.planned_bytes()).c_str(), BytesText(trainer.state_bytes()).c_str(),
               trainer.recomputed_segments() == 0
                   ? ""
                   : absl::StrCat(", ", trainer.recomputed_segments(),
                                  " parts of the forward pass are computed again")
                         .c_str());
  if (config.deterministic()) {
    std::fprintf(
        stderr,
        "deterministic: without cost, as there is nothing to switch off. Kernels of the cpu split "
        "their work and order their sums by shapes alone, for any number of threads; the same "
        "kernels run without this option\n");
  }
  if (common.verbose) {
    ONWARD_ASSIGN_OR_RETURN(const std::string table, ParametersOf(trainer));
    std::fputs(table.c_str(), stderr);
  }
  if (options.resume) {
    std::fprintf(stderr, "going on after step %lld of %lld\n",
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

constexpr int kProfiledBatches = 10;

absl::Status WriteProfile(Trainer& trainer, const std::string& path) {
  ONWARD_RETURN_IF_ERROR(trainer.WriteProfile(path));
  const std::optional<MemoryPeak> peak = trainer.RecordedPeak();
  if (!peak) return absl::OkStatus();
  std::fprintf(stderr,
               "the profile of the first %d batches is %s; a step's peak is %s, while %s runs, "
               "and %s of state\n",
               kProfiledBatches, path.c_str(), BytesText(peak->bytes).c_str(), peak->node.c_str(),
               BytesText(trainer.state_bytes()).c_str());
  return absl::OkStatus();
}

volatile std::sig_atomic_t interrupted = 0;

absl::Status Train(const Options& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ReadTrainConfig(options.config, options.set));
  if (!options.output_dir.empty()) config.set_output_dir(options.output_dir);
  ONWARD_RETURN_IF_ERROR(ApplyCommonOptions(common, config));
  const std::filesystem::path output(config.output_dir());
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot make the output directory '",
                                               config.output_dir(), "': ", error.message()));
  }
  TrainRecords records;
  std::unique_ptr<Progress> progress;
  // A disk that is full ends neither the training nor what it leaves.
  bool warned = false;
  const auto record = [&](const absl::Status& status) {
    if (status.ok() || std::exchange(warned, true)) return;
    std::fprintf(stderr, "warning: %s; the training goes on without it\n",
                 std::string(status.message()).c_str());
  };
  TrainerOptions trainer_options;
  trainer_options.directory = std::filesystem::path(options.config).parent_path();
  trainer_options.data_directory = options.data_dir;
  const std::string data_directory =
      options.data_dir.empty() ? trainer_options.directory : options.data_dir;
  trainer_options.checkpoint_directory = output / "checkpoints";
  trainer_options.resume = options.resume;
  trainer_options.profiled_batches = options.profile.empty() ? 0 : kProfiledBatches;
  trainer_options.on_step = [&](const StepReport& report) {
    record(records.Step(report));
    progress->Step(report);
  };
  trainer_options.on_evaluation = [&](const EvaluationReport& report) {
    record(records.Evaluation(report));
    ShowEvaluation(report, common.json ? stderr : stdout);
  };
  trainer_options.on_warning = [](const std::string& message) {
    std::fprintf(stderr, "warning: %s\n", message.c_str());
  };
  // The first interrupt ends the training after its step, with a checkpoint; the second at once.
  std::signal(SIGINT, [](int) {
    interrupted = 1;
    std::signal(SIGINT, SIG_DFL);
  });
  trainer_options.stop = [] { return interrupted != 0; };
  ONWARD_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(config, std::move(trainer_options)));
  ONWARD_RETURN_IF_ERROR(Announce(*trainer, config, options, common));
  ONWARD_RETURN_IF_ERROR(records.Open(output, config.log(), trainer->steps_done()));
  progress = std::make_unique<Progress>(trainer->total_steps());
  ONWARD_RETURN_IF_ERROR(trainer->Run());
  if (!options.profile.empty()) ONWARD_RETURN_IF_ERROR(WriteProfile(*trainer, options.profile));
  record(records.Close());
  if (!common.json) records.PrintConfusion();
  ONWARD_RETURN_IF_ERROR(WriteModels(*trainer, config, data_directory, output));
  if (common.json) {
    nlohmann::json document = records.Summary();
    document["steps"] = trainer->steps_done();
    document["total_steps"] = trainer->total_steps();
    document["model"] = output / "model.onnx";
    document["planned_bytes"] = trainer->planned_bytes();
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::printf("%lld of %lld steps%s; the trained model is %s\n",
              static_cast<long long>(trainer->steps_done()),
              static_cast<long long>(trainer->total_steps()), records.LeftOut().c_str(),
              (output / "model.onnx").c_str());
  return absl::OkStatus();
}

}  // namespace

void AddTrain(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  Command command = NewCommand(line, common, "train", "Trains or fine-tunes a model",
                               "onward train examples/mnist/train.textproto --output-dir out");
  command.Option("config", options->config, "onward.TrainConfig as .textproto or .json",
                 {.required = true});
  command.Option("--set", options->set,
                 "overrides of the config, as optimizer.options.lr=0.01; may be repeated");
  command.Option("--output-dir", options->output_dir,
                 "where metrics, checkpoints and the trained model go");
  command.Option("--data-dir", options->data_dir,
                 "relative paths of data are below it (default: the config's directory)");
  command.Option("--profile", options->profile,
                 "write a Chrome trace of the first batches: what ran, how much memory it needed");
  command.Flag("--resume", options->resume,
               "go on from the newest checkpoint in the output directory, bit for bit");
  command.Do([=, &common] { return Train(*options, common); });
}

}  // namespace onward::cli
