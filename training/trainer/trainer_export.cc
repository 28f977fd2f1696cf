// The models that a trainer writes: the trained one, and one step.
#include <utility>

#include "graph/rewrite/state.h"
#include "onward/export.h"
#include "onward/status.h"
#include "training/gradient/gradient_model.h"
#include "training/rewrite/portable_checks.h"
#include "training/source/stop_gradients.h"
#include "training/step/make_phases.h"
#include "training/trainer/trained_model.h"
#include "training/trainer/training_loop.h"
#include "training/trainer/training_state.h"

namespace onward::training {

absl::StatusOr<Model> TrainingLoop::CurrentModel(bool averaged) const {
  ONWARD_ASSIGN_OR_RETURN(const TrainingState state, ReadState(*session_, *step_, progress_));
  return ModelWithWeights(trained_.model, weights_, averaged, state.tensors);
}

absl::StatusOr<Model> TrainingLoop::TrainedModel() const {
  if (!best_weights_) ONWARD_RETURN_IF_ERROR(UpdateAverageStatistics());
  Model model;
  if (best_weights_) {
    model =
        ModelWithWeights(trained_.model, weights_, best_weights_->averaged, best_weights_->state);
  } else {
    ONWARD_ASSIGN_OR_RETURN(model, CurrentModel(HasAverage()));
  }
  ONWARD_RETURN_IF_ERROR(ToInferenceForm(model));
  SetNotes(config_, DataNotes(), model);
  return model;
}

absl::Status TrainingLoop::Export(const std::string& path) const {
  ONWARD_ASSIGN_OR_RETURN(Model model, TrainedModel());
  return ExportTrainedModel(std::move(model), config_, path);
}

absl::Status TrainingLoop::ExportStep(const std::string& path) const {
  ONWARD_RETURN_IF_ERROR(step_->CheckExport());
  TrainableModel trained{Model(), trained_.initializers};
  ONWARD_ASSIGN_OR_RETURN(trained.model, CurrentModel(/*averaged=*/false));
  ONWARD_ASSIGN_OR_RETURN(TrainingPhases portable,
                          MakeTrainingPhases(trained, config_, fields_, {.portable = true}));
  Model& step = portable.graphs[0].model;
  for (const UpdateBinding& update : step.updates) {
    ONWARD_ASSIGN_OR_RETURN(Tensor value, session_->State(step.graph.value(update.input).name));
    SetConstant(step.graph, update.input, std::move(value));
  }
  ONWARD_RETURN_IF_ERROR(SimplifyShapeArithmetic(step));
  ONWARD_RETURN_IF_ERROR(CheckNamedDims(step.graph));
  StopGradientsToIdentities(step.graph);
  return ExportFile(step, path);
}

}  // namespace onward::training
