// onward export: makes a model of a checkpoint.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/output_directory.h"
#include "onward/status.h"
#include "onward/train_config.h"
#include "training/metrics/metrics.h"
#include "training/trainer/checkpoint_model.h"
#include "training/trainer/trained_model.h"

namespace onward::cli {
namespace {

struct ExportFlags {
  std::string subject, out, output_dir, data_dir;
  std::string checkpoint;
  std::vector<std::string> set;
};

// Where the checkpoints of a training are, and its config where it is named.
struct Subject {
  std::vector<std::string> directories;
  std::optional<training::CheckpointConfigOf> config;
};

absl::StatusOr<Subject> Open(const ExportFlags& options) {
  Subject subject;
  std::filesystem::path output(options.subject);
  std::error_code error;
  if (!std::filesystem::is_directory(output, error)) {
    subject.config.emplace();
    ONWARD_ASSIGN_OR_RETURN(subject.config->config, ReadTrainConfig(options.subject, options.set));
    subject.config->directory = output.parent_path();
    ONWARD_ASSIGN_OR_RETURN(
        output, OutputDirectoryOf(subject.config->config, {options.subject, options.output_dir}));
  }
  const bool holds_them = output.filename() == "checkpoints";
  subject.directories.push_back(holds_them ? output : output / "checkpoints");
  if (subject.config && !subject.config->config.checkpoint().second_dir().empty()) {
    subject.directories.push_back(std::filesystem::path(subject.config->directory) /
                                  subject.config->config.checkpoint().second_dir() / "checkpoints");
  }
  return subject;
}

absl::Status Export(const ExportFlags& options, const CommonOptions& common) {
  training::CheckpointChoice choice;
  if (!options.checkpoint.empty()) {
    ONWARD_ASSIGN_OR_RETURN(choice, training::ParseCheckpointChoice(options.checkpoint));
  }
  ONWARD_ASSIGN_OR_RETURN(Subject subject, Open(options));
  if (!subject.config) {
    // Which metric is better is for the config to say, which any checkpoint has.
    ONWARD_ASSIGN_OR_RETURN(
        const training::LoadedCheckpoint newest,
        training::ChooseCheckpoint(subject.directories, {training::CheckpointChoice::kLast, 0},
                                   false));
    ONWARD_ASSIGN_OR_RETURN(subject.config, training::ConfigOfCheckpoint(newest));
  }
  // By default what the training itself exports.
  const TrainConfig& config = subject.config->config;
  const bool best = config.has_evaluation() && config.export_().weights() == ExportConfig::BEST;
  if (options.checkpoint.empty() && !best) choice.kind = training::CheckpointChoice::kLast;
  ONWARD_ASSIGN_OR_RETURN(const training::LoadedCheckpoint chosen,
                          training::ChooseCheckpoint(subject.directories, choice,
                                                     training::LargestIsBest(config.evaluation())));
  for (const std::string& damaged : chosen.damaged)
    std::fprintf(
        stderr, "warning: %s; %s is exported\n", damaged.c_str(),
        choice.kind == training::CheckpointChoice::kBest ? "the next best one" : "an older one");
  ONWARD_ASSIGN_OR_RETURN(Model model,
                          training::ModelOfCheckpoint(config, subject.config->directory, chosen,
                                                      options.data_dir, LogToStandardError()));
  ONWARD_RETURN_IF_ERROR(training::ExportTrainedModel(std::move(model), config, options.out));
  const std::string& metric = config.evaluation().metric();
  if (common.json) {
    nlohmann::json document = {
        {"output", options.out}, {"step", chosen.state.step}, {"checkpoint", chosen.path}};
    if (chosen.state.metric) document[metric] = *chosen.state.metric;
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::string value;
  if (chosen.state.metric) value = absl::StrCat(" (", metric, " ", *chosen.state.metric, ")");
  std::printf("the model of step %lld%s is %s\n", static_cast<long long>(chosen.state.step),
              value.c_str(), options.out.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddExport(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<ExportFlags>();
  Command command = NewCommand(line, common, "export", "Makes a model of a training's checkpoint",
                               "onward export out --checkpoint best -o model.onnx");
  command.Option("subject", options->subject,
                 "the output directory of a training, or its config (which names that directory)",
                 {.required = true});
  command.Option("--checkpoint", options->checkpoint,
                 "best (by the evaluation's metric), last, or the number of a step (default: best "
                 "where there is an evaluation)");
  command.Option("-o,--output", options->out, "ONNX file to write", {.required = true});
  command.Option("--output-dir", options->output_dir,
                 "of a config: where its training went (default: the config's)");
  command.Option("--data-dir", options->data_dir,
                 "where relative paths of the config's data begin (default: as in the training); "
                 "read for a uniform average's checkpoint between evaluations alone");
  command.Option("--set", options->set, "overrides of a config; may be repeated");
  command.Do([=, &common] { return Export(*options, common); });
}

}  // namespace onward::cli
