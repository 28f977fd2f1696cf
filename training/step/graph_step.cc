#include "training/step/graph_step.h"

#include <cmath>

#include "onward/status.h"
#include "training/step/batch_inputs.h"

namespace onward::training {

absl::StatusOr<bool> GraphStep::RunBatch(StepReport& report, LossMean& mean) {
  // Only a training that skips steps keeps the state before one: two tensors of each.
  TrainingSession::Accept accept;
  if (SkipsSteps(context_.config)) {
    accept = [](const Session::Outputs& outputs) {
      return std::isfinite(LossOf(outputs)) && GradientsFinite(outputs);
    };
  }
  const double waits = Now();
  ONWARD_ASSIGN_OR_RETURN(const Batch batch, context_.batches.Next());
  report.data_seconds += Now() - waits;
  report.examples += context_.batches.slice().whole;
  const BatchPlaces& places = context_.batches.places();
  TrainingSession& session = context_.session;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session.data_inputs(), batch, context_.config.data()));
  ONWARD_RETURN_IF_ERROR(context_.checks.CheckData(batch, places));
  ONWARD_RETURN_IF_ERROR(SetSlice(context_, context_.batches.slice()));
  ONWARD_RETURN_IF_ERROR(NamePlace(
      AtStep(context_.progress, session.Step(given, outputs_, 0, accept)), batch, places));
  context_.checks.NoteData(LossOf(outputs_), batch, places);
  mean.Add(outputs_);
  ReadGradients(outputs_, report);
  return GradientsFinite(outputs_);
}

absl::StatusOr<bool> GraphStep::Make(StepReport& report) {
  LossMean mean;
  ONWARD_ASSIGN_OR_RETURN(const bool finite, RunBatch(report, mean));
  report.loss = mean.value();
  return finite && std::isfinite(report.loss);
}

}  // namespace onward::training
