// onward train: trains or fine-tunes as a configuration says.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "graph/base/status.h"
#include "graph/builder/nn/parameters.h"
#include "training/config/read_config.h"
#include "training/data/sources.h"
#include "training/log/confusion_table.h"
#include "training/log/curve_plot.h"
#include "training/log/event_file.h"
#include "training/log/metrics_file.h"
#include "training/trainer.h"

namespace onward::cli {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> set;
  std::string output_dir, data_dir;
  bool resume = false;
};

nlohmann::json JsonOf(const StepReport& report) {
  nlohmann::json line = {{"step", report.step},        {"epoch", report.epoch},
                         {"loss", report.loss},        {"lr", report.rate},
                         {"seconds", report.seconds},  {"data_seconds", report.data_seconds},
                         {"examples", report.examples}};
  if (report.gradient_norm) line["gradient_norm"] = *report.gradient_norm;
  if (!report.gradient_norms.empty()) line["gradient_norms"] = report.gradient_norms;
  if (report.skipped) line["skipped"] = true;
  return line;
}

nlohmann::json JsonOf(const EvaluationReport& report) {
  nlohmann::json line = {
      {"step", report.step},
      {"epoch", report.epoch},
      {"evaluation", {{"loss", report.evaluation.loss}, {"examples", report.evaluation.examples}}}};
  if (const auto accuracy = report.evaluation.accuracy())
    line["evaluation"]["accuracy"] = *accuracy;
  return line;
}

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

void ShowEvaluation(const EvaluationReport& report) {
  std::string line = absl::StrFormat("evaluation after step %d (%d epochs): loss %.4f", report.step,
                                     report.epoch, report.evaluation.loss);
  if (const auto accuracy = report.evaluation.accuracy())
    absl::StrAppendFormat(&line, ", accuracy %.2f %%", 100 * *accuracy);
  std::printf("%s%s\n", line.c_str(), report.best ? ", the best so far" : "");
  std::fflush(stdout);
}

// Everything that a training leaves in its output directory besides checkpoints and the model.
class Records {
 public:
  // `done`: the step that a resumed training goes on after; 0: a new one.
  absl::Status Open(const std::filesystem::path& output, const LogConfig& config, int64_t done) {
    output_ = output;
    config_ = config;
    const std::string path = output / "metrics.jsonl";
    absl::StatusOr<MetricsFile> metrics =
        done > 0 ? MetricsFile::Continue(path, done) : MetricsFile::Create(path);
    if (!metrics.ok()) return metrics.status();
    metrics_ = std::make_unique<MetricsFile>(*std::move(metrics));
    if (!config.tensorboard()) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(events_, EventFile::Create(output / "tensorboard"));
    return absl::OkStatus();
  }

  absl::Status Step(const StepReport& report) {
    loss_.points.emplace_back(report.step, report.loss);
    if (report.step % config_.every_steps() != 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(metrics_->Write(JsonOf(report)));
    if (events_ == nullptr) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(events_->Scalar("train/loss", report.step, report.loss));
    return events_->Scalar("train/lr", report.step, report.rate);
  }
  absl::Status Evaluation(const EvaluationReport& report) {
    evaluation_.points.emplace_back(report.step, report.evaluation.loss);
    confusion_ = report.evaluation.confusion;
    ONWARD_RETURN_IF_ERROR(metrics_->Write(JsonOf(report)));
    if (events_ == nullptr) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(events_->Scalar("evaluation/loss", report.step, report.evaluation.loss));
    if (const auto accuracy = report.evaluation.accuracy())
      ONWARD_RETURN_IF_ERROR(events_->Scalar("evaluation/accuracy", report.step, *accuracy));
    return events_->Flush();
  }
  // loss.svg, and the confusion of the last evaluation on the standard output.
  absl::Status Close() {
    CurvePlot plot{"loss", "step", "loss", {loss_, evaluation_}};
    std::ofstream(output_ / "loss.svg") << DrawSvg(plot);
    if (!confusion_.empty()) std::printf("%s", ConfusionTable(confusion_).c_str());
    return events_ == nullptr ? absl::OkStatus() : events_->Flush();
  }

 private:
  std::filesystem::path output_;
  LogConfig config_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventFile> events_;
  Curve loss_{"training", {}}, evaluation_{"evaluation", {}};
  Confusion confusion_;
};

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

// Name, shape, whether it is trained and how it started, of every parameter.
absl::StatusOr<std::string> ParametersOf(const Trainer& trainer) {
  ONWARD_ASSIGN_OR_RETURN(const Model model, trainer.TrainedModel());
  const std::vector<std::string>& trained = trainer.parameters();
  std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  for (nn::ParameterInfo& each : parameters) {
    const bool is_trained = std::find(trained.begin(), trained.end(), each.name) != trained.end();
    if (is_trained) each.frozen.clear();
    if (!is_trained && each.trainable()) each.frozen = "frozen";
  }
  return nn::ParameterTable(parameters);
}

// What the training is and where it begins, on stderr.
absl::Status Announce(const Trainer& trainer, const Options& options, const CommonOptions& common) {
  std::fprintf(stderr, "%zu parameters are trained; a step is planned in %.1f MB%s\n",
               trainer.parameters().size(), static_cast<double>(trainer.planned_bytes()) / 1e6,
               trainer.recomputed_segments() == 0
                   ? ""
                   : absl::StrCat(", ", trainer.recomputed_segments(),
                                  " parts of the forward pass are computed again")
                         .c_str());
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

volatile std::sig_atomic_t interrupted = 0;

absl::Status Train(const Options& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ReadTrainConfig(options.config, options.set));
  if (!options.output_dir.empty()) config.set_output_dir(options.output_dir);
  if (common.provider != "cpu")
    return absl::UnimplementedError(
        absl::StrCat("--provider: trainings run on the cpu, not on ", common.provider));
  if (common.threads > 0) config.set_threads(common.threads);
  if (common.seed != 0) config.set_seed(common.seed);
  if (common.deterministic) config.set_deterministic(true);
  const std::filesystem::path output(config.output_dir());
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot make the output directory '",
                                               config.output_dir(), "': ", error.message()));
  }
  Records records;
  std::unique_ptr<Progress> progress;
  absl::Status recorded;
  TrainerOptions trainer_options;
  trainer_options.directory = std::filesystem::path(options.config).parent_path();
  trainer_options.data_directory = options.data_dir;
  const std::string data_directory =
      options.data_dir.empty() ? trainer_options.directory : options.data_dir;
  trainer_options.checkpoint_directory = output / "checkpoints";
  trainer_options.resume = options.resume;
  trainer_options.on_step = [&](const StepReport& report) {
    recorded.Update(records.Step(report));
    progress->Step(report);
  };
  trainer_options.on_evaluation = [&](const EvaluationReport& report) {
    recorded.Update(records.Evaluation(report));
    ShowEvaluation(report);
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
  ONWARD_RETURN_IF_ERROR(Announce(*trainer, options, common));
  ONWARD_RETURN_IF_ERROR(records.Open(output, config.log(), trainer->steps_done()));
  progress = std::make_unique<Progress>(trainer->total_steps());
  ONWARD_RETURN_IF_ERROR(trainer->Run());
  ONWARD_RETURN_IF_ERROR(recorded);
  ONWARD_RETURN_IF_ERROR(records.Close());
  ONWARD_RETURN_IF_ERROR(WriteModels(*trainer, config, data_directory, output));
  std::printf("%lld of %lld steps; the trained model is %s\n",
              static_cast<long long>(trainer->steps_done()),
              static_cast<long long>(trainer->total_steps()), (output / "model.onnx").c_str());
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
  command.Flag("--resume", options->resume,
               "go on from the newest checkpoint in the output directory, bit for bit");
  command.Do([=, &common] { return Train(*options, common); });
}

}  // namespace onward::cli
