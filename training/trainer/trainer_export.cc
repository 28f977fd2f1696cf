// The models that a trainer writes: the trained one, and one step.
#include <set>

#include "graph/rewrite/state.h"
#include "onward/export.h"
#include "onward/status.h"
#include "training/gradient/gradient_model.h"
#include "training/rewrite/portable_checks.h"
#include "training/source/stop_gradients.h"
#include "training/trainer/trained_model.h"
#include "training/trainer/training_loop.h"

namespace onward {

absl::StatusOr<Model> TrainingLoop::ModelWithWeights(
    bool averaged, const std::map<std::string, Tensor>* state) const {
  Model model = trained_.model;
  const std::vector<std::string> states = session_->state_names();
  const std::set<std::string> known(states.begin(), states.end());
  for (const std::string& name : weights_) {
    const std::string average = kAveragePrefix + name;
    const std::string& source = averaged && known.count(average) > 0 ? average : name;
    Tensor weight;
    if (state == nullptr) {
      ONWARD_ASSIGN_OR_RETURN(weight, session_->State(source));
    } else {
      weight = state->at(source);
    }
    SetConstant(model.graph, model.graph.FindValue(name), std::move(weight));
  }
  return model;
}

absl::StatusOr<Model> TrainingLoop::TrainedModel() const {
  if (!best_weights_) ONWARD_RETURN_IF_ERROR(UpdateAverageStatistics());
  ONWARD_ASSIGN_OR_RETURN(
      Model model, best_weights_ ? ModelWithWeights(best_weights_->averaged, &best_weights_->state)
                                 : ModelWithWeights(HasAverage(), nullptr));
  ONWARD_RETURN_IF_ERROR(ToInferenceForm(model));
  SetNotes(config_, DataNotes(), model);
  return model;
}

absl::Status TrainingLoop::Export(const std::string& path) const {
  ONWARD_ASSIGN_OR_RETURN(Model model, TrainedModel());
  return ExportTrainedModel(std::move(model), config_, path);
}

absl::Status TrainingLoop::ExportStep(const std::string& path) const {
  if (IsLbfgs(config_)) {
    return absl::FailedPreconditionError(
        "export.training_step: a step of LBFGS evaluates its graph as often as it likes and is "
        "none");
  }
  if (phases_.apply) {
    return absl::FailedPreconditionError(
        "export.training_step: a step over several batches is no one graph; set accumulate to 1");
  }
  TrainableModel trained{Model(), trained_.initializers};
  ONWARD_ASSIGN_OR_RETURN(trained.model, ModelWithWeights(false, nullptr));
  ONWARD_ASSIGN_OR_RETURN(TrainingPhases portable,
                          MakeTrainingPhases(trained, config_, fields_, {.portable = true}));
  Model& step = portable.models[0];
  for (const UpdateBinding& update : step.updates) {
    ONWARD_ASSIGN_OR_RETURN(Tensor value, session_->State(step.graph.value(update.input).name));
    SetConstant(step.graph, update.input, std::move(value));
  }
  ONWARD_RETURN_IF_ERROR(SimplifyShapeArithmetic(step));
  ONWARD_RETURN_IF_ERROR(CheckNamedDims(step.graph));
  StopGradientsToIdentities(step.graph);
  return ExportFile(step, path);
}

}  // namespace onward
