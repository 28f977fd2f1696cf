// The scale of a training's loss from step to step (torch.amp.GradScaler).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/log.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// Does nothing for trainings whose loss is not scaled. Not thread-safe.
class LossScaler {
 public:
  // The scale is a part of `progress`. Both, and `log`, outlive the scaler.
  LossScaler(const TrainConfig& config, TrainingProgress& progress, const LogSink& log);

  bool scales() const;
  double scale() const { return progress_.loss_scale; }
  // Gives the coming step its scale.
  absl::Status Set(TrainingSession& session) const;
  // Returns whether a step that overflows is skipped and the next one has a smaller scale.
  bool Handles() const;
  // After a step whose gradients were `finite` or not, and whose report says whether it is skipped:
  // reports its scale, warns of one that overflows at the least scale, and chooses the next one.
  void EndStep(bool finite, StepReport& report);

 private:
  // Once: what overflows at the least scale may do so in every step.
  void WarnOfLeast();

  const TrainConfig& config_;
  TrainingProgress& progress_;
  const LogSink& log_;
  bool warned_ = false;
};

}  // namespace onward::training
