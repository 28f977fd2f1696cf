// The trainer behind onward/training.h: the stages of a training, run step by step.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/communicator.h"
#include "onward/training.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/data/batch_sizes.h"
#include "training/data/loader.h"
#include "training/optimizers/lbfgs.h"
#include "training/prepare/trainable_model.h"
#include "training/step/finite_checks.h"
#include "training/step/loss_scaler.h"
#include "training/step/phases.h"
#include "training/step/progress.h"
#include "training/step/step.h"
#include "training/step/training_session.h"
#include "training/trainer/evaluation.h"
#include "training/trainer/rates.h"

namespace onward::training {

// Not thread-safe.
class TrainingLoop : public Trainer {
 public:
  static absl::StatusOr<std::unique_ptr<TrainingLoop>> Create(const TrainConfig& config,
                                                              TrainerOptions options);

  absl::Status Run() override;
  absl::StatusOr<Evaluation> Evaluate() override { return EvaluateTogether(); }
  absl::StatusOr<Model> TrainedModel() const override;
  absl::Status Export(const std::string& path) const override;
  absl::Status ExportStep(const std::string& path) const override;

  int64_t steps_done() const override { return progress_.step; }
  int64_t total_steps() const override { return total_steps_; }
  int64_t steps_per_epoch() const override;
  bool evaluation_due() const override { return progress_.evaluation_due.has_value(); }
  TrainingEnd end() const override { return end_; }
  std::optional<BestEvaluation> best() const override;
  int64_t exported_step() const override {
    return best_weights_ ? best_weights_->step : progress_.step;
  }

  const std::vector<std::string>& parameters() const override { return phases_.parameters; }
  const std::vector<WeightChoice>& choices() const override { return phases_.choices; }
  std::vector<std::string> state_names() const override { return session_->state_names(); }
  absl::StatusOr<Tensor> State(const std::string& name) const override {
    return session_->State(name);
  }
  std::vector<std::string> class_names() const override;

  const absl::Status& checkpoint_status() const override { return checkpoint_status_; }
  bool RemoveOldCheckpoint() override { return checkpoints_ != nullptr && checkpoints_->GiveWay(); }

  const TrainingMemory& planned_memory() const override { return planned_; }
  int64_t peak_bytes() const override { return memory_->peak(); }
  int recomputed_segments() const override { return segments_; }
  std::vector<NodeExplanation> ExplainStep() const override;
  absl::Status WriteProfile(const std::string& path) const override;
  std::optional<MemoryPeak> RecordedPeak() const override;
  std::vector<TraceEvent> RecordedSteps() const override;

  TrainingSession& session() { return *session_; }

 private:
  TrainingLoop(const TrainConfig& config, TrainerOptions options);

  absl::Status Open(std::optional<Model> model);
  int rank() const;
  int ranks() const;
  void SetActivity(const std::string& activity) const;
  absl::Status StartTogether();
  bool AnyRank(bool value) const;
  absl::StatusOr<Evaluation> EvaluateTogether();
  absl::StatusOr<Evaluation> EvaluateAlone();
  absl::Status RunSteps();
  absl::Status OpenData();
  absl::Status MakeSession(std::vector<Phase> graphs);
  absl::Status FitSession();
  absl::Status PlanMemory(int64_t budget);
  absl::Status PlanState();
  void PlanCheckpoints(int64_t written, int64_t written_at_end, int64_t limit);
  absl::Status PlanPhase(size_t phase, const DataConfig& data, const BatchSizes& sizes,
                         PlannedMemory* sum);
  absl::Status MeasurePhase(size_t phase, const DataConfig& data, Loader& loader,
                            const BatchSizes& sizes);
  absl::StatusOr<Lbfgs::Memory> PlanLbfgs() const;
  bool ComesBeforeTheEnd(bool has_every_steps, int64_t every_steps) const;
  bool SavesBeforeTheEnd() const;
  absl::Status CheckLimit() const;
  int64_t TotalSteps() const;
  // With the weights as they are, or their averages.
  absl::StatusOr<Model> CurrentModel(bool averaged) const;
  void WarnOfLateAverage() const;
  bool HasAverage() const;
  absl::Status UpdateAverageStatistics() const;
  void WarnOfEmptyGroups() const;
  absl::Status CheckEvaluation() const;
  void WarnOfUncountedTargets() const;
  void WarnOfProbabilities() const;
  absl::Status CheckEvaluationClasses() const;
  std::map<std::string, std::string> DataNotes() const;  // for the trained model's metadata
  absl::Status ReadWeights(StepReport& report) const;
  absl::Status OpenSteps();
  absl::StatusOr<StepReport> MakeStep();
  absl::Status AfterStep(int64_t epoch_before);
  absl::Status EvaluateDue();
  absl::StatusOr<EvaluationReport> EvaluateNow();
  bool OutOfPatience() const;
  bool ExportsBest() const;
  void KeepBest();
  void FindBest();
  bool Interrupted();
  absl::Status OpenCheckpoints();
  absl::Status Resume();
  void SaveCheckpoint(std::optional<double> metric);
  void WaitForCheckpoint();
  void WarnOfCheckpoint(const absl::Status& why) const;
  absl::Status SaveLastCheckpoint();
  bool HasCheckpoint(int64_t step) const;
  std::vector<std::string> CheckpointDirectories() const;
  void Warn(const std::string& message) const;
  void Count(std::string_view counter, int64_t amount = 1) const;

  const TrainConfig config_;
  TrainerOptions options_;
  TrainingProgress progress_;
  LossScaler scaler_;
  FiniteChecks checks_;
  TrainableModel trained_;            // without the values of weights_
  std::vector<std::string> weights_;  // constants of the model that are state
  TrainingPhases phases_;
  std::unique_ptr<TrainingSession> session_;
  std::shared_ptr<const Dataset> data_;  // of the training
  std::unique_ptr<Loader> loader_, evaluation_loader_;
  std::optional<Rates> rates_;
  std::unique_ptr<TrainingStep> step_;
  std::vector<Field> fields_;
  int64_t total_steps_ = 0;
  TrainingMemory planned_;
  bool waits_for_checkpoints_ = false;  // a step while one is written would take too much memory
  int segments_ = 0;                    // that are computed again; 0: none

  mutable int64_t statistics_of_ = -1;  // progress_.averaged when they were computed
  std::unique_ptr<CheckpointWriter> checkpoints_;
  std::map<std::string, std::string> description_;  // of the training, for checkpoints
  int64_t saved_step_ = -1;
  absl::Status checkpoint_status_;
  std::shared_ptr<MemoryLimit> memory_;
  std::shared_ptr<executors::SharedArena> arena_;  // of the phases
  // The best evaluation has these. They are kept where no checkpoints are written, and found once
  // Run ends elsewhere.
  struct BestWeights {
    int64_t step;
    bool averaged;  // the averages count
    std::map<std::string, Tensor> state;
  };
  std::optional<BestWeights> best_weights_;
  std::optional<double> metric_;  // of the evaluation after the last step, if there was one
  bool is_best_ = false;          // it was the best so far
  TrainingEnd end_ = TrainingEnd::kSteps;
  bool stop_ = false, interrupted_ = false;
};

}  // namespace onward::training
