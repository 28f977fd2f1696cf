// The scale of a trainer's loss.
#include "training/loss_scale.h"
#include "training/trainer.h"

namespace onward {

absl::Status Trainer::SetLossScale() {
  if (!ScalesLoss(config_)) return absl::OkStatus();
  return session_->Set(kLossScaleInput, Tensor::Scalar(static_cast<float>(progress_.loss_scale)));
}

void Trainer::NoteGradients(bool finite) {
  const LossScale next =
      NextLossScale(config_.precision(), {progress_.loss_scale, progress_.scale_steps}, finite);
  progress_.loss_scale = next.scale;
  progress_.scale_steps = next.steps;
}

}  // namespace onward
