#include "training/step/graph_step.h"

#include <cmath>

#include "onward/status.h"
#include "training/step/batch_inputs.h"

namespace onward::training {

absl::StatusOr<bool> GraphStep::RunBatch(StepReport& report, LossMean& mean) {
  // Only a training that skips steps keeps the state before one: two tensors of each.
  TrainingSession& session = context_.session;
  const StepOutputs& at = session.outputs();
  TrainingSession::Accept accept;
  if (SkipsSteps(context_.config)) {
    accept = [&at](const TrainingSession::Outputs& outputs) {
      return std::isfinite(LossOf(at, outputs)) && GradientsFinite(at, outputs);
    };
  }
  const double waits = Now();
  ONWARD_ASSIGN_OR_RETURN(const Batch batch, context_.batches.Next());
  report.data_seconds += Now() - waits;
  report.examples += context_.batches.slice().whole;
  const BatchPlaces& places = context_.batches.places();
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session.data_inputs(), batch, context_.config.data()));
  ONWARD_RETURN_IF_ERROR(context_.checks.CheckData(batch, places));
  ONWARD_RETURN_IF_ERROR(SetSlice(context_, context_.batches.slice()));
  ONWARD_RETURN_IF_ERROR(NamePlace(
      AtStep(context_.progress, session.Step(given, outputs_, 0, accept)), batch, places));
  context_.checks.NoteData(LossOf(at, outputs_), batch, places);
  mean.Add(at, outputs_);
  ReadGradients(at, outputs_, context_.phases.parameters, report);
  return GradientsFinite(at, outputs_);
}

absl::StatusOr<bool> GraphStep::Make(StepReport& report) {
  LossMean mean;
  ONWARD_ASSIGN_OR_RETURN(const bool finite, RunBatch(report, mean));
  report.loss = mean.value();
  report.losses = mean.losses();
  return finite && std::isfinite(report.loss);
}

}  // namespace onward::training
