// onward train: trains or fine-tunes as a configuration says.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "graph/base/status.h"
#include "training/config/read_config.h"
#include "training/trainer.h"

namespace onward::cli {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> set;
  std::string output_dir;
};

// One object a line, as steps and evaluations are made.
class MetricsFile {
 public:
  static absl::StatusOr<MetricsFile> Open(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return absl::UnavailableError(absl::StrCat("cannot write '", path, "'"));
    return MetricsFile(file);
  }
  void Write(const nlohmann::json& line) {
    std::fputs((line.dump() + "\n").c_str(), file_.get());
    std::fflush(file_.get());
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit MetricsFile(std::FILE* file) : file_(file) {}
  std::unique_ptr<std::FILE, Close> file_;
};

nlohmann::json JsonOf(const StepReport& report) {
  nlohmann::json line = {{"step", report.step},        {"epoch", report.epoch},
                         {"loss", report.loss},        {"lr", report.rate},
                         {"seconds", report.seconds},  {"data_seconds", report.data_seconds},
                         {"examples", report.examples}};
  if (report.gradient_norm) line["gradient_norm"] = *report.gradient_norm;
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

absl::Status Train(const Options& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ReadTrainConfig(options.config, options.set));
  if (!options.output_dir.empty()) config.set_output_dir(options.output_dir);
  if (common.threads > 0) config.set_threads(common.threads);
  std::error_code error;
  std::filesystem::create_directories(config.output_dir(), error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot make the output directory '",
                                               config.output_dir(), "': ", error.message()));
  }
  const std::filesystem::path output(config.output_dir());
  ONWARD_ASSIGN_OR_RETURN(MetricsFile metrics, MetricsFile::Open(output / "metrics.jsonl"));
  std::unique_ptr<Progress> progress;
  TrainerOptions trainer_options;
  trainer_options.directory = std::filesystem::path(options.config).parent_path();
  trainer_options.on_step = [&](const StepReport& report) {
    if (report.step % config.log().every_steps() == 0) metrics.Write(JsonOf(report));
    progress->Step(report);
  };
  trainer_options.on_evaluation = [&](const EvaluationReport& report) {
    metrics.Write(JsonOf(report));
    ShowEvaluation(report);
  };
  ONWARD_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(config, std::move(trainer_options)));
  progress = std::make_unique<Progress>(trainer->total_steps());
  ONWARD_RETURN_IF_ERROR(trainer->Run());
  const std::string exported = output / "model.onnx";
  ONWARD_RETURN_IF_ERROR(trainer->Export(exported));
  std::printf("%lld steps; the trained model is %s\n",
              static_cast<long long>(trainer->steps_done()), exported.c_str());
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
  command.Do([=, &common] { return Train(*options, common); });
}

}  // namespace onward::cli
