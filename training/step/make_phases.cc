#include "training/step/make_phases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/passes/pass.h"
#include "graph/rewrite/state.h"
#include "nn/row_norm.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/gradient/plain_identities.h"
#include "training/prepare/mode.h"
#include "training/prepare/trainable.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/all_reduce.h"
#include "training/rewrite/fuse_attention.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/portable_checks.h"
#include "training/rewrite/training_names.h"
#include "training/step/evaluation_phases.h"
#include "training/step/phase_loss.h"
#include "training/step/phase_update.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

bool NeedsApply(const TrainConfig& config) { return config.accumulate() > 1; }

// The graph that updates `names` from the sums of the accumulating one, which it clears.
absl::StatusOr<Phase> ApplyPhase(const Model& accumulating, const std::vector<std::string>& names,
                                 const TrainConfig& config, const PhaseOptions& options,
                                 TrainingPhases& phases) {
  Model model;
  model.opsets = accumulating.opsets;
  model.graph.name = "apply";
  std::vector<ValueId> parameters;
  std::vector<Tensor> values;
  for (const std::string& name : names) {
    values.push_back(*accumulating.graph.constant(accumulating.graph.FindValue(name)));
    parameters.push_back(AddState(model.graph, name, values.back()));
  }
  for (const std::string& name : phases.buffers) {
    if (config.has_average())
      AddState(model.graph, name, *accumulating.graph.constant(accumulating.graph.FindValue(name)));
  }
  ONWARD_ASSIGN_OR_RETURN(
      AccumulatedGradients accumulated,
      ReadAccumulated(model, values, names, !SumsLoss(config.loss()), config.accumulate()));
  if (options.all_reduce)
    ONWARD_RETURN_IF_ERROR(AllReduceGradients(model, names, accumulated.gradients));
  PhaseIds ids;
  ONWARD_RETURN_IF_ERROR(
      WriteUpdate(model, config, options.portable, parameters, accumulated.gradients, phases, ids));
  ONWARD_RETURN_IF_ERROR(ClearSums(model, accumulated.sums));
  return FinishPhase(std::move(model), ids);
}

// The share of the loss that flows back, scaled.
ValueId Cotangent(Model& model, GraphSink& sink, const TrainConfig& config, const Expr& count,
                  PhaseIds& ids) {
  const Expr share = NeedsApply(config) || !count.valid()
                         ? AccumulateCount(model, sink, count, config.accumulate())
                         : Cast(Reciprocal(count), DType::kFloat32);
  return (ScalesLoss(config) ? LossScaleInput(sink, ids.inputs.loss_scale) * share : share).id();
}

// Makes the phases one after the other.
class PhaseMaker {
 public:
  PhaseMaker(const TrainableModel& trained, const TrainConfig& config,
             absl::Span<const Field> fields, const PhaseOptions& options)
      : trained_(trained),
        config_(config),
        fields_(fields),
        options_(options),
        trainable_(config.trainable().begin(), config.trainable().end()),
        budget_(PatchBudget(options.stop_after_patches)),
        step_(trained.model),
        sink_(step_.graph, "loss/") {}

  absl::StatusOr<TrainingPhases> Run() {
    ONWARD_RETURN_IF_ERROR(AddForward());
    ONWARD_RETURN_IF_ERROR(ChooseParameters());
    ONWARD_RETURN_IF_ERROR(Differentiate());
    ONWARD_RETURN_IF_ERROR(NeedsApply(config_) ? FinishAccumulatingStep() : FinishStep());
    ONWARD_RETURN_IF_ERROR(AddEvaluations());
    if (options_.stop_after_patches >= 0) phases_.patches_left = budget_;
    return std::move(phases_);
  }

 private:
  // The model in training mode and precision, and its loss.
  absl::Status AddForward() {
    ONWARD_ASSIGN_OR_RETURN(std::vector<std::string> outputs,
                            ScoredOutputs(trained_.model.graph, config_));
    ONWARD_ASSIGN_OR_RETURN(outputs,
                            FreeTrainingNames(step_.graph, outputs, trained_.initializers));
    TrainingModeOptions mode;
    mode.frozen = {config_.inference_mode().begin(), config_.inference_mode().end()};
    ONWARD_RETURN_IF_ERROR(SetTrainingMode(step_, mode).status());
    for (const UpdateBinding& update : step_.updates)
      phases_.buffers.push_back(step_.graph.value(update.input).name);
    if (options_.all_reduce) MarkBatchAxes(step_.graph);
    if (!options_.portable && SessionPrecision(config_) != Precision::kStrict) {
      ONWARD_RETURN_IF_ERROR(
          FuseAttention(step_, MayBeTrained(step_, trained_.initializers, trainable_), budget_));
    }
    ONWARD_RETURN_IF_ERROR(ApplyPrecision(step_, config_.precision(), budget_));
    ONWARD_ASSIGN_OR_RETURN(
        scored_, AddLoss(sink_, config_, outputs, fields_,
                         {.parts = NeedsApply(config_), .all_reduce = options_.all_reduce}, ids_));
    return absl::OkStatus();
  }

  absl::Status ChooseParameters() {
    const std::vector<std::string> frozen(config_.frozen().begin(), config_.frozen().end());
    ONWARD_ASSIGN_OR_RETURN(parameters_,
                            TrainableParameters(step_, trained_.initializers, scored_.loss.id(),
                                                trainable_, frozen, &phases_.choices));
    for (const ValueId id : parameters_) phases_.parameters.push_back(step_.graph.value(id).name);
    for (int i = 0; i < config_.optimizer().group_size(); ++i) {
      const auto& given = config_.optimizer().group(i).parameters();
      const std::vector<std::string> patterns(given.begin(), given.end());
      ONWARD_RETURN_IF_ERROR(CheckPatterns(
          patterns, absl::StrCat("optimizer.group[", i, "].parameters"), trained_.initializers));
    }
    return absl::OkStatus();
  }

  absl::Status Differentiate() {
    // Before the counts become state: those are of all ranks already.
    if (options_.all_reduce)
      ONWARD_RETURN_IF_ERROR(AllReduceUpdates(step_, ids_.inputs.batch_share));
    GradientOptions differentiating;
    differentiating.allow_onward_ops = !options_.portable;
    const ValueId cotangent = Cotangent(step_, sink_, config_, scored_.count, ids_);
    ONWARD_RETURN_IF_ERROR(sink_.status());
    ONWARD_ASSIGN_OR_RETURN(gradients_, AddGradients(step_.graph, {{scored_.loss.id(), cotangent}},
                                                     parameters_, differentiating));
    if (!options_.portable) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(CheckRequiredShapes(step_.graph));
    MakePlainIdentities(step_.graph);
    return absl::OkStatus();
  }

  absl::Status FinishAccumulatingStep() {
    ONWARD_RETURN_IF_ERROR(AccumulateGradients(step_, phases_.parameters, gradients_));
    ONWARD_ASSIGN_OR_RETURN(Phase apply,
                            ApplyPhase(step_, phases_.parameters, config_, options_, phases_));
    for (const ValueId id : parameters_) {
      const ValueId state = ConstantToState(step_.graph, id);
      const Expr bounded = nn::BoundedTable(sink_, state);
      ONWARD_RETURN_IF_ERROR(sink_.status());
      if (bounded.valid()) AddUpdate(step_, state, bounded.id());
    }
    ONWARD_RETURN_IF_ERROR(AddStep());
    phases_.apply = phases_.graphs.size();
    phases_.graphs.push_back(std::move(apply));
    return absl::OkStatus();
  }

  absl::Status FinishStep() {
    if (options_.all_reduce)
      ONWARD_RETURN_IF_ERROR(AllReduceGradients(step_, phases_.parameters, gradients_));
    ONWARD_RETURN_IF_ERROR(
        WriteUpdate(step_, config_, options_.portable, parameters_, gradients_, phases_, ids_));
    return AddStep();
  }

  absl::Status AddStep() {
    ONWARD_ASSIGN_OR_RETURN(Phase step, FinishPhase(std::move(step_), ids_));
    phases_.graphs.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status AddEvaluations() {
    std::vector<std::string> state;
    for (const Phase& phase : phases_.graphs) {
      for (const UpdateBinding& update : phase.model.updates)
        state.push_back(phase.model.graph.value(update.input).name);
    }
    const std::vector<std::string> averaged = phases_.weights();
    if (config_.has_average() && config_.average().kind() == AverageConfig::UNIFORM) {
      ONWARD_ASSIGN_OR_RETURN(std::optional<BatchStatistics> statistics,
                              StatisticsPhase(trained_, config_, averaged, budget_));
      if (statistics) {
        phases_.statistics = phases_.graphs.size();
        phases_.graphs.push_back({std::move(statistics->model)});
        phases_.statistic_names = std::move(statistics->names);
      }
    }
    phases_.evaluate = phases_.graphs.size();
    ONWARD_ASSIGN_OR_RETURN(Phase evaluate,
                            EvaluatePhase(trained_, config_, fields_, state, {}, budget_));
    phases_.graphs.push_back(std::move(evaluate));
    if (!config_.has_average()) return absl::OkStatus();
    phases_.evaluate_average = phases_.graphs.size();
    ONWARD_ASSIGN_OR_RETURN(Phase average,
                            EvaluatePhase(trained_, config_, fields_, state, averaged, budget_));
    phases_.graphs.push_back(std::move(average));
    return absl::OkStatus();
  }

  const TrainableModel& trained_;
  const TrainConfig& config_;
  const absl::Span<const Field> fields_;
  const PhaseOptions& options_;
  const std::vector<std::string> trainable_;
  int budget_;
  Model step_;
  GraphSink sink_;  // of the step's graph
  PhaseIds ids_;    // of the step's graph
  Scored scored_;
  std::vector<ValueId> parameters_, gradients_;
  TrainingPhases phases_;
};

}  // namespace

absl::StatusOr<TrainingPhases> MakeTrainingPhases(const TrainableModel& trained,
                                                  const TrainConfig& config,
                                                  absl::Span<const Field> fields,
                                                  const PhaseOptions& options) {
  return PhaseMaker(trained, config, fields, options).Run();
}

}  // namespace onward::training