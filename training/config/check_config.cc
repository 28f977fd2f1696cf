#include "training/config/check_config.h"

#include "absl/strings/str_cat.h"
#include "onward/train_config.h"
#include "training/config/check_parts.h"
#include "training/config/checks.h"
#include "training/config/kinds.h"
#include "training/config/make_loss.h"
#include "training/config/make_optimizer.h"
#include "training/config/unused_fields.h"
#include "training/metrics/metrics.h"

namespace onward::training {
namespace {

// Returns whether a schedule that cycles the momentum finds one: beta1 of Adam's kin, or a momentum
// that is kept because it is not 0.
bool HasMomentum(const OptimizerSettings& settings) {
  const OptimizerConfig optimizer = MakeOptimizer(settings);
  const OptimizerEntry* entry = FindOptimizer(optimizer.name);
  if (entry == nullptr) return false;
  for (const OptimizerSetting& setting : entry->settings) {
    if (setting.name == "beta1") return true;
    if (setting.name != "momentum") continue;
    const auto given = optimizer.options.find("momentum");
    if ((given == optimizer.options.end() ? setting.default_value : given->second) != 0)
      return true;
    for (const ParameterGroupConfig& group : settings.group()) {
      const OptimizerOptions options = GroupOptions(group);
      const auto own = options.find("momentum");
      if (own != options.end() && own->second != 0) return true;
    }
  }
  return false;
}

void CheckMomentum(const TrainConfig& config, ConfigProblem& problem) {
  const ScheduleConfig::OneCycle& cycle = config.schedule().one_cycle();
  if (HasMomentum(config.optimizer())) return;
  Checks check("schedule.one_cycle.", problem);
  for (const auto& [field, given] : {std::pair{"cycle_momentum", cycle.has_cycle_momentum()},
                                     {"base_momentum", cycle.has_base_momentum()},
                                     {"max_momentum", cycle.has_max_momentum()}}) {
    if (given) check.Fail(field, "does nothing: the optimizer has no momentum");
  }
}

void CheckLosses(const TrainConfig& config, ConfigProblem& problem) {
  CheckLoss(config.loss(), "loss.", problem);
  for (int i = 0; i < config.auxiliary_loss_size(); ++i) {
    const std::string prefix = absl::StrCat("auxiliary_loss[", i, "].");
    CheckLoss(config.auxiliary_loss(i), prefix, problem);
    if (config.auxiliary_loss(i).reduction() == config.loss().reduction()) continue;
    Checks(prefix, problem)
        .Fail("reduction",
              "differs from that of `loss`: a sum over all targets and a mean over them "
              "do not add up");
  }
}

// Returns whether what a perplexity is the exponential of is more than the mean of `loss`.
bool IsPerplexityOfSum(const TrainConfig& config, const std::string& metric) {
  return metric == "perplexity" &&
         (config.auxiliary_loss_size() > 0 || config.loss().factor() != 1);
}

void CheckParts(const TrainConfig& config, ConfigProblem& problem) {
  CheckLosses(config, problem);
  CheckOptimizer(config.optimizer(), problem);
  if (config.has_schedule()) CheckSchedule(config.schedule(), "schedule.", problem);
  CheckMomentum(config, problem);
  if (config.has_clip()) {
    Checks check("clip.", problem);
    if (config.clip().has_global_norm()) check.Positive("global_norm", config.clip().global_norm());
    if (config.clip().has_norm()) check.Positive("norm", config.clip().norm());
    if (config.clip().has_value()) check.Positive("value", config.clip().value());
  }
  if (config.has_average()) {
    Checks check("average.", problem);
    check.Range("decay", config.average().decay(), 0, 1);
    check.Range("start", static_cast<double>(config.average().start()), 0);
    check.Range("every", static_cast<double>(config.average().every()), 1);
  }
  if (config.has_precision()) {
    Checks check("precision.", problem);
    check.Positive("loss_scale", config.precision().loss_scale());
    check.Range("growth", config.precision().growth(), 1);
    check.Positive("backoff", config.precision().backoff());
    check.Range("backoff", config.precision().backoff(), 0, 1);
    check.Positive("least_loss_scale", config.precision().least_loss_scale());
    check.Range("growth_interval", static_cast<double>(config.precision().growth_interval()), 1);
  }
}

void CheckEvaluation(const TrainConfig& config, ConfigProblem& problem) {
  Checks check("evaluation.", problem);
  const EvaluationConfig& evaluation = config.evaluation();
  if (evaluation.has_batch_size())
    check.Range("batch_size", static_cast<double>(evaluation.batch_size()), 1);
  if (evaluation.has_every_steps())
    check.Range("every_steps", static_cast<double>(evaluation.every_steps()), 1);
  if (evaluation.has_patience())
    check.Range("patience", static_cast<double>(evaluation.patience()), 1);
  const auto check_metric = [&](const std::string& field, const std::string& metric) {
    const absl::Status status = CheckMetric(metric, evaluation, config.loss());
    if (!status.ok()) check.Fail(field, std::string(status.message()));
    if (IsPerplexityOfSum(config, metric))
      check.Fail(field, "perplexity is of one loss, and here the loss is a sum or has a factor");
  };
  check_metric("metric", evaluation.metric());
  for (int i = 0; i < evaluation.also_size(); ++i)
    check_metric(absl::StrCat("also[", i, "]"), evaluation.also(i));
  for (int i = 0; i < evaluation.own_size(); ++i) {
    const absl::Status own = CheckOwnMetric(evaluation, i, config.loss());
    if (!own.ok()) check.Fail(absl::StrCat("own[", i, "]"), std::string(own.message()));
  }
}

void CheckExport(const TrainConfig& config, ConfigProblem& problem) {
  if (!config.export_().training_step()) return;
  Checks check("export.", problem);
  if (config.optimizer().has_lbfgs())
    check.Fail(
        "training_step",
        "needs a step that is one graph; LBFGS evaluates its graph a variable number of times");
  if (config.accumulate() > 1)
    check.Fail("training_step", "needs a step that is one graph: set accumulate to 1");
}

void CheckRun(const TrainConfig& config, bool has_model, ConfigProblem& problem) {
  Checks check("", problem);
  if (!has_model && config.source_case() == TrainConfig::SOURCE_NOT_SET)
    check.Fail("model", "is missing: name an ONNX file, or a `built` model");
  if (has_model && config.source_case() != TrainConfig::SOURCE_NOT_SET)
    check.Fail(config.has_model() ? "model" : "built",
               "must be left out: TrainerOptions::model gives the model");
  check.Range("batch_size", static_cast<double>(config.batch_size()), 1);
  check.Range("accumulate", static_cast<double>(config.accumulate()), 1);
  check.Range("threads", config.threads(), 0, 1024);
  if (config.has_epochs() == config.has_steps())
    check.Fail("epochs", "needs epochs or steps, one of the two");
  if (config.has_epochs()) check.Range("epochs", static_cast<double>(config.epochs()), 0);
  if (config.has_steps()) check.Range("steps", static_cast<double>(config.steps()), 0);
  if (config.has_evaluation()) CheckEvaluation(config, problem);
  if (config.has_checkpoint()) {
    Checks checkpoint("checkpoint.", problem);
    if (config.checkpoint().has_every_steps())
      checkpoint.Range("every_steps", static_cast<double>(config.checkpoint().every_steps()), 1);
    checkpoint.Range("keep", config.checkpoint().keep(), 1);
    checkpoint.Range("keep_every", static_cast<double>(config.checkpoint().keep_every()), 0);
    checkpoint.Range("wait_seconds", static_cast<double>(config.checkpoint().wait_seconds()), 0);
  }
  if (config.has_log()) {
    Checks log("log.", problem);
    log.Range("every_steps", static_cast<double>(config.log().every_steps()), 1);
    if (config.log().has_histogram_steps()) {
      log.Range("histogram_steps", static_cast<double>(config.log().histogram_steps()), 1);
      if (!config.log().tensorboard())
        log.Fail("histogram_steps", "needs log.tensorboard: histograms are for its files");
    }
  }
}

}  // namespace

ConfigProblem CheckTrainConfig(const TrainConfig& config, bool has_model) {
  ConfigProblem problem;
  if (std::vector<std::string> missing; !config.IsInitialized()) {
    config.FindInitializationErrors(&missing);
    return {missing[0], "is missing"};
  }
  CheckRun(config, has_model, problem);
  CheckParts(config, problem);
  CheckExport(config, problem);
  return problem.field.empty() ? UnusedField(config) : problem;
}

absl::Status StatusOf(const ConfigProblem& problem) {
  if (problem.field.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the configuration: ", problem.field, " ", problem.reason));
}

}  // namespace onward::training

namespace onward {

absl::Status ValidateTrainConfig(const TrainConfig& config) {
  return training::StatusOf(training::CheckTrainConfig(config));
}

}  // namespace onward
