#include "training/step/step.h"

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/rewrite/loss_scale.h"

namespace onward::training {

bool SkipsSteps(const TrainConfig& config) {
  return config.non_finite() == TrainConfig::SKIP || ScalesLoss(config);
}

bool TakesBatch(const StepContext& context, int64_t taken, int64_t epoch) {
  return taken == 0 ||
         (taken < context.config.accumulate() && context.batches.position().epoch == epoch);
}

absl::Status SetSlice(const StepContext& context, const BatchSlice& slice) {
  if (context.batches.ranks() == 1) return absl::OkStatus();
  context.session.set_batch_slice(slice);
  const double share = static_cast<double>(slice.rows) / static_cast<double>(slice.whole);
  return context.session.Set(&StepInputs::batch_share, Tensor::Scalar(share));
}

absl::Status AtStep(const TrainingProgress& progress, const absl::Status& status) {
  return Annotate(status, absl::StrCat("step ", progress.step + 1, ":"));
}

}  // namespace onward::training
