// onward evaluate: how good a model is on a data set.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/data_notes.h"
#include "cli/train_options.h"
#include "cli/train_records.h"
#include "onward/import.h"
#include "onward/status.h"
#include "onward/train_config.h"
#include "onward/training.h"
#include "training/config/kinds.h"
#include "training/config/set_field.h"
#include "training/log/confusion_table.h"
#include "training/metrics/metrics.h"

namespace onward::cli {
namespace {

struct EvaluateFlags {
  std::string subject, model, data, data_dir, loss = "cross_entropy";
  std::vector<std::string> set, metrics;
  int batch_size = 0;
};

absl::Status SetLoss(const std::string& kind, TrainConfig& config) {
  for (const auto* each : training::KindsOf(*LossConfig::descriptor()))
    if (each->name() == kind) return training::SetField(config, "loss." + kind, "{}");
  return absl::InvalidArgumentError(absl::StrCat("--loss: unknown loss '", kind, "'; known: ",
                                                 training::KindNames(*LossConfig::descriptor())));
}

// A config whose only data are those of the evaluation, and whose only purpose it is.
absl::StatusOr<TrainConfig> ConfigOf(const EvaluateFlags& options) {
  TrainConfig config;
  if (absl::EndsWith(options.subject, ".onnx")) {
    if (options.data.empty())
      return absl::InvalidArgumentError(
          "--data is missing, such as --data 'npz { path: \"x.npz\" }'");
    config.set_model(std::filesystem::absolute(options.subject));
    ONWARD_RETURN_IF_ERROR(SetLoss(options.loss, config));
    config.mutable_optimizer()->mutable_sgd();
    config.set_steps(0);
  } else {
    ONWARD_ASSIGN_OR_RETURN(config, ReadTrainConfig(options.subject, options.set));
    if (!options.model.empty()) {
      // It has its weights and its head.
      config.set_model(std::filesystem::absolute(options.model));
      config.clear_weights();
      config.clear_head();
    }
  }
  if (!options.data.empty())
    ONWARD_RETURN_IF_ERROR(Annotate(
        training::SetField(config, "evaluation.data", absl::StrCat("{", options.data, "}")),
        "--data:"));
  if (!config.has_evaluation())
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.subject, "' has no evaluation: --data gives the data"));
  EvaluationConfig& evaluation = *config.mutable_evaluation();
  for (const OwnMetric& own : evaluation.own()) {
    std::fprintf(stderr, "warning: '%s' is a metric that only the training's program has\n",
                 own.name().c_str());
    if (evaluation.metric() == own.name()) evaluation.clear_metric();
    auto& also = *evaluation.mutable_also();
    also.erase(std::remove(also.begin(), also.end(), own.name()), also.end());
  }
  evaluation.clear_own();
  for (const std::string& metric : options.metrics) config.mutable_evaluation()->add_also(metric);
  if (options.batch_size > 0) config.mutable_evaluation()->set_batch_size(options.batch_size);
  *config.mutable_data() = config.evaluation().data();
  config.mutable_data()->set_drop_last(false);
  config.clear_recompute();
  config.set_accumulate(1);
  return config;
}

// The model's notes on its data stand for what --data leaves out. Returns its classes.
absl::StatusOr<std::vector<std::string>> ApplyNotesOf(const EvaluateFlags& options,
                                                      TrainConfig& config) {
  if (!absl::EndsWith(options.subject, ".onnx")) return std::vector<std::string>();
  ONWARD_ASSIGN_OR_RETURN(const training::Notes metadata, ReadMetadata(options.subject));
  ONWARD_ASSIGN_OR_RETURN(std::vector<std::string> classes,
                          ApplyNotes(metadata, *config.mutable_data()));
  if (config.data().has_images()) *config.mutable_evaluation()->mutable_data() = config.data();
  return classes;
}

absl::Status RunEvaluation(const EvaluateFlags& options, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ConfigOf(options));
  ONWARD_RETURN_IF_ERROR(ApplyCommonOptions(common, config));
  ONWARD_ASSIGN_OR_RETURN(std::vector<std::string> classes, ApplyNotesOf(options, config));
  TrainerOptions trainer_options;
  trainer_options.directory = std::filesystem::path(options.subject).parent_path();
  // Paths of the command line are relative to the current directory.
  trainer_options.data_directory =
      options.data_dir.empty() && !options.data.empty() ? "." : options.data_dir;
  // The fields of weights and of the evaluation; settings of the training do not matter here.
  bool evaluates = false;
  trainer_options.log = [&](const LogRecord& record) {
    if (evaluates || record.source == "weights") LogToStandardError()(record);
  };
  ONWARD_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(config, std::move(trainer_options)));
  evaluates = true;
  ONWARD_ASSIGN_OR_RETURN(const Evaluation evaluation, trainer->Evaluate());
  const std::optional<double> accuracy = evaluation.accuracy();
  if (!trainer->class_names().empty()) classes = trainer->class_names();
  if (common.json) {
    nlohmann::json document = {{"loss", evaluation.loss}, {"examples", evaluation.examples}};
    if (!evaluation.losses.empty()) document["losses"] = evaluation.losses;
    if (accuracy) document["accuracy"] = *accuracy;
    for (const auto& [name, value] : evaluation.metrics) document[name] = value;
    if (!classes.empty()) document["classes"] = classes;
    if (ShowsConfusion(config))
      document["confusion"] = ConfusionJson(evaluation.confusion, classes);
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  std::printf("loss %.6f", evaluation.loss);
  for (size_t i = 0; i < evaluation.losses.size(); ++i)
    std::printf("%s%.6f", i == 0 ? " = " : " + ", evaluation.losses[i]);
  if (accuracy) std::printf(", accuracy %.2f %%", 100 * *accuracy);
  for (const auto& [name, value] : evaluation.metrics)
    std::printf(", %s", training::MetricText(name, value).c_str());
  std::printf(", %lld examples\n", static_cast<long long>(evaluation.examples));
  if (!evaluation.confusion.empty() && ShowsConfusion(config))
    std::printf("%s", training::ConfusionTable(evaluation.confusion, classes).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddEvaluate(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<EvaluateFlags>();
  Command command =
      NewCommand(line, common, "evaluate", "Metrics of a model on a data set",
                 "onward evaluate examples/mnist/train.textproto --model out/model.onnx "
                 "--data-dir mnist");
  command.Option("subject", options->subject, "a config of training, or an ONNX file",
                 {.required = true});
  command.Option("--model", options->model, "ONNX file in place of the config's model");
  command.Option("--data", options->data,
                 "onward.DataConfig in text format, in place of the config's evaluation data");
  command.Option("--data-dir", options->data_dir,
                 "relative paths of data are below it (default: the config's directory; of --data: "
                 "the current one)");
  command.Option("--loss", options->loss, "of an ONNX file: cross_entropy, mse, ...");
  command.Option("--metric", options->metrics,
                 "further metrics, such as f1, auc, mae or top_5_accuracy; may be repeated");
  command.Option("--set", options->set, "overrides of the config; may be repeated");
  command.Option("--batch-size", options->batch_size, "examples at a time");
  command.Do([=, &common] { return RunEvaluation(*options, common); });
}

}  // namespace onward::cli
