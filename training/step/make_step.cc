#include "training/step/make_step.h"

#include "training/step/accumulated_step.h"
#include "training/step/graph_step.h"
#include "training/step/lbfgs_step.h"

namespace onward::training {

absl::StatusOr<std::unique_ptr<TrainingStep>> MakeTrainingStep(const StepContext& context) {
  if (IsLbfgs(context.config)) return LbfgsStep::Create(context);
  if (context.phases.apply) return std::make_unique<AccumulatedStep>(context);
  return std::make_unique<GraphStep>(context);
}

}  // namespace onward::training
