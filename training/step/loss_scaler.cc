#include "training/step/loss_scaler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "training/rewrite/loss_scale.h"

namespace onward::training {

LossScaler::LossScaler(const TrainConfig& config, TrainingProgress& progress, const LogSink& log)
    : config_(config), progress_(progress), log_(log) {
  if (scales()) progress_.loss_scale = config_.precision().loss_scale();
}

bool LossScaler::scales() const { return ScalesLoss(config_); }

absl::Status LossScaler::Set(TrainingSession& session) const {
  if (!scales()) return absl::OkStatus();
  return session.Set(&StepInputs::loss_scale,
                     Tensor::Scalar(static_cast<float>(progress_.loss_scale)));
}

bool LossScaler::Handles() const {
  return scales() && progress_.loss_scale > LeastLossScale(config_.precision());
}

void LossScaler::EndStep(bool finite, StepReport& report) {
  if (!scales()) return;
  if (report.skipped && !Handles()) WarnOfLeast();
  report.loss_scale = progress_.loss_scale;
  const LossScale next =
      NextLossScale(config_.precision(), {progress_.loss_scale, progress_.scale_steps}, finite);
  progress_.loss_scale = next.scale;
  progress_.scale_steps = next.steps;
}

void LossScaler::WarnOfLeast() {
  if (std::exchange(warned_, true)) return;
  Warn(log_, "training",
       absl::StrCat("step ", progress_.step + 1,
                    " is skipped: its loss or a gradient is not finite at the least loss scale, ",
                    progress_.loss_scale, " (log.detect_anomaly names the node)"));
}

}  // namespace onward::training
