#include "training/step/evaluation_phases.h"

#include <algorithm>
#include <utility>

#include "graph/rewrite/autocast.h"
#include "graph/rewrite/keep_outputs.h"
#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/metrics/metrics.h"
#include "training/prepare/mode.h"
#include "training/rewrite/training_names.h"
#include "training/step/phase_loss.h"
#include "training/step/running_statistics.h"

namespace onward::training {

absl::Status ApplyPrecision(Model& model, const PrecisionConfig& precision, int& budget) {
  if (precision.autocast() == PrecisionConfig::FLOAT32) return absl::OkStatus();
  const bool half = precision.autocast() == PrecisionConfig::FLOAT16;
  return Autocast(model, half ? DType::kFloat16 : DType::kBFloat16, budget);
}

absl::StatusOr<Phase> FinishPhase(Model model, const PhaseIds& ids) {
  const std::vector<ValueId> wanted = ids.outputs.All();
  std::vector<int> kept;
  const std::vector<ValueId>& outputs = model.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool updates = std::any_of(model.updates.begin(), model.updates.end(),
                                     [&](const auto& each) { return each.output == outputs[i]; });
    if (updates || std::find(wanted.begin(), wanted.end(), outputs[i]) != wanted.end())
      kept.push_back(static_cast<int>(i));
  }
  std::vector<ValueId> moved;
  ONWARD_ASSIGN_OR_RETURN(model.graph, KeepOutputs(std::move(model.graph), kept, &moved));
  const auto now = [&](ValueId id) { return moved[static_cast<size_t>(id.index)]; };
  for (UpdateBinding& update : model.updates) update = {now(update.input), now(update.output)};
  const auto position_in = [&](const std::vector<ValueId>& all) {
    return [&all, &now](ValueId id) {
      return static_cast<size_t>(std::find(all.begin(), all.end(), now(id)) - all.begin());
    };
  };
  Phase phase;
  phase.outputs = ids.outputs.Mapped<size_t>(position_in(model.graph.outputs()));
  phase.inputs = ids.inputs.Mapped<size_t>(position_in(model.graph.inputs()));
  phase.model = std::move(model);
  return phase;
}

absl::StatusOr<Phase> EvaluatePhase(const TrainableModel& trained, const TrainConfig& config,
                                    absl::Span<const Field> fields,
                                    const std::vector<std::string>& state,
                                    const std::vector<std::string>& averaged, int& budget) {
  Model model = trained.model;
  ONWARD_ASSIGN_OR_RETURN(std::vector<std::string> outputs,
                          ScoredOutputs(trained.model.graph, config));
  ONWARD_ASSIGN_OR_RETURN(outputs, FreeTrainingNames(model.graph, outputs, trained.initializers));
  ONWARD_RETURN_IF_ERROR(SetInferenceMode(model).status());
  for (const std::string& name : state) {
    const ValueId constant = model.graph.FindValue(name);
    if (!model.graph.is_constant(constant)) continue;
    const bool average = std::find(averaged.begin(), averaged.end(), name) != averaged.end();
    ConstantToState(model.graph, constant, average ? kAveragePrefix + name : name);
  }
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(model, config.precision(), budget));
  GraphSink sink(model.graph, "loss/");
  PhaseIds ids;
  ONWARD_ASSIGN_OR_RETURN(
      const Scored scored,
      AddLoss(sink, config, outputs, fields, {.parts = !config.loss().has_from_model()}, ids));
  if (LooksAtScores(config.evaluation())) {
    const Expr scores = Identity(scored.scores);  // a node of its own: they may be an output
    ONWARD_RETURN_IF_ERROR(sink.status());
    ids.outputs.scores = AddNamedOutput(model.graph, scores.id(), kScores);
  }
  if (HasClasses(config.loss()) || HasBinaryTargets(config.loss())) {
    const Expr prediction = PredictedClass(config.loss(), scored.scores);
    ONWARD_RETURN_IF_ERROR(sink.status());
    ids.outputs.prediction = AddNamedOutput(model.graph, prediction.id(), kPrediction);
  }
  return FinishPhase(std::move(model), ids);
}

absl::StatusOr<std::optional<BatchStatistics>> StatisticsPhase(
    const TrainableModel& trained, const TrainConfig& config,
    const std::vector<std::string>& averaged, int& budget) {
  BatchStatistics made{trained.model, {}};
  Model& model = made.model;
  ONWARD_RETURN_IF_ERROR(FreeTrainingNames(model.graph, {}, trained.initializers).status());
  TrainingModeOptions mode;
  mode.frozen = {config.inference_mode().begin(), config.inference_mode().end()};
  mode.batch_statistics = true;
  ONWARD_RETURN_IF_ERROR(SetTrainingMode(model, mode).status());
  ONWARD_ASSIGN_OR_RETURN(made.names, KeepBatchStatistics(model));
  if (made.names.empty()) return std::nullopt;
  for (const std::string& name : averaged) {
    const ValueId id = model.graph.FindValue(name);
    if (!model.graph.is_constant(id)) continue;
    ConstantToState(model.graph, id, kAveragePrefix + name);
  }
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(model, config.precision(), budget));
  return made;
}

}  // namespace onward::training
