// The trainer behind onward/stepwise_trainer.h: steps whose batches the program gives.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onward/stepwise_trainer.h"
#include "training/data/given_batches.h"
#include "training/prepare/trainable_model.h"
#include "training/step/finite_checks.h"
#include "training/step/loss_scaler.h"
#include "training/step/phases.h"
#include "training/step/step.h"
#include "training/step/training_session.h"

namespace onward::training {

class Stepwise : public StepwiseTrainer {
 public:
  Stepwise(TrainConfig config, StepwiseOptions options);

  absl::Status Open(Model model, const std::vector<Field>& fields);

  absl::StatusOr<double> Step(const Batch& batch) override { return StepOver({&batch, 1}); }
  absl::StatusOr<double> StepOver(absl::Span<const Batch> batches) override;
  const StepReport& last_step() const override { return report_; }
  absl::StatusOr<double> Loss(const Batch& batch) override;
  absl::StatusOr<Tensor> Predict(const Batch& batch) override;
  absl::Status SetRateFactor(double factor) override;
  absl::Status UpdateAverageStatistics(const NextBatch& next) override;

  int64_t steps_done() const override { return progress_.step; }
  const std::vector<std::string>& parameters() const override { return phases_.parameters; }
  const std::vector<WeightChoice>& choices() const override { return phases_.choices; }
  std::vector<std::string> state_names() const override { return session_->state_names(); }
  absl::StatusOr<Tensor> State(const std::string& name) const override {
    return session_->State(name);
  }
  absl::Status SetState(const std::string& name, Tensor value) override;

  absl::Status SaveCheckpoint(const std::string& directory, int keep) const override;
  absl::Status RestoreCheckpoint(const std::string& directory) override;
  absl::StatusOr<Model> TrainedModel() const override;
  absl::Status Export(const std::string& path) const override;

 private:
  bool is_alone() const { return options_.communicator == nullptr; }
  absl::Status MakeSession(std::vector<Phase> graphs);
  // The rows of each batch, and where they are among those of all ranks.
  absl::StatusOr<std::vector<int64_t>> RowsOf(absl::Span<const Batch> batches) const;
  absl::StatusOr<std::vector<BatchSlice>> SlicesOf(absl::Span<const Batch> batches) const;
  absl::Status MakeStep();
  bool HasAverage() const { return phases_.evaluate_average && progress_.averaged > 0; }
  // FailedPrecondition: UpdateAverageStatistics was not called since the average changed.
  absl::Status CheckAverageStatistics() const;
  size_t EvaluatingPhase() const;
  absl::StatusOr<TrainingSession::Outputs> Evaluate(const Batch& batch);

  const TrainConfig config_;
  StepwiseOptions options_;
  TrainingProgress progress_;
  LossScaler scaler_;
  FiniteChecks checks_;
  GivenBatches batches_;
  TrainableModel trained_;            // without the values of weights_
  std::vector<std::string> weights_;  // constants of the model that are state
  TrainingPhases phases_;
  std::unique_ptr<TrainingSession> session_;
  std::unique_ptr<TrainingStep> step_;
  StepReport report_;
  double rate_factor_ = 1;
};

}  // namespace onward::training
