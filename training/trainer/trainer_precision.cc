// The scale of a trainer's loss, and what of its overflows is an error.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/anomaly.h"
#include "training/trainer/trainer.h"

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

// Whether a step that overflows is skipped and the next one has a smaller scale.
bool Trainer::ScalerHandles() const {
  return ScalesLoss(config_) && progress_.loss_scale > LeastLossScale(config_.precision());
}

// Once: what overflows at the least scale may do so in every step.
void Trainer::WarnOfLeastScale() {
  if (std::exchange(warned_of_scale_, true)) return;
  Warn(absl::StrCat("step ", progress_.step + 1,
                    " is skipped: its loss or a gradient is not finite at the least loss scale, ",
                    progress_.loss_scale, " (log.detect_anomaly names the node)"));
}

// Where the scaler may skip the step, whether an overflow is an error shows only at its end.
std::function<absl::Status(std::string_view, const TensorView&)> Trainer::AnomalyWatch(
    size_t phase) {
  const bool evaluates = phase >= phases_.evaluate;
  if (evaluates || !ScalesLoss(config_)) return RefuseNonFinite;
  return [this, phase](std::string_view name, const TensorView& value) {
    if (!anomaly_.empty()) return absl::OkStatus();
    const absl::Status status = RefuseNonFinite(name, value);
    if (status.ok()) return status;
    const Graph& graph = session_->session(phase).graph();
    const ValueId id = graph.FindValue(std::string(name));
    if (id.valid() && graph.value(id).producer.valid())
      anomaly_ = absl::StrCat(graph.Describe(graph.value(id).producer), " ");
    absl::StrAppend(&anomaly_, std::string(status.message()));
    return absl::OkStatus();
  };
}

absl::Status Trainer::JudgeAnomaly(bool skipped) {
  const std::string anomaly = std::exchange(anomaly_, {});
  if (anomaly.empty() || (skipped && ScalerHandles())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("step ", progress_.step + 1, ", loss scale ",
                                                    progress_.loss_scale, ": ", anomaly));
}

}  // namespace onward
