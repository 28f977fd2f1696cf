// A whole training, as a configuration says: data, steps, schedules, evaluation, the trained model.
//
//   ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ReadTrainConfig("mnist.textproto"));
//   ONWARD_ASSIGN_OR_RETURN(auto trainer, Trainer::Create(config, {.directory = "examples"}));
//   ONWARD_RETURN_IF_ERROR(trainer->Run());
//   ONWARD_RETURN_IF_ERROR(trainer->Export("trained.onnx"));
//
// With a directory of checkpoints a training that was cut off resumes bit for bit.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collectives/communicator.h"
#include "onward/train_config.pb.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/data/batch_sizes.h"
#include "training/data/loader.h"
#include "training/optimizers/lbfgs.h"
#include "training/step/finite_checks.h"
#include "training/step/loss_scaler.h"
#include "training/step/phases.h"
#include "training/step/progress.h"
#include "training/step/step.h"
#include "training/step/training_session.h"
#include "training/trainer/evaluation.h"
#include "training/trainer/rates.h"

namespace onward {

struct TrainerOptions {
  std::string directory;       // a relative path of the model is below it
  std::string data_directory;  // relative paths of data are below it; "": `directory`
  std::function<void(const StepReport&)> on_step = nullptr;
  std::function<void(const EvaluationReport&)> on_evaluation = nullptr;
  // What does not end the training: a checkpoint that could not be written or is damaged.
  std::function<void(const std::string& message)> on_warning = nullptr;
  // Asked after each step; true ends the training early, with a checkpoint.
  std::function<bool()> stop = nullptr;
  // The same, but asked between the batches of a step and of an evaluation too: true ends the
  // training as soon as its work can be saved. What it was doing is done again by a training that
  // resumes. Once true it stays so.
  std::function<bool()> interrupted = nullptr;
  std::string checkpoint_directory;  // "": none are written
  // Where checkpoints go that find no room there; "": nowhere.
  std::string second_checkpoint_directory;
  bool resume = false;  // from the newest whole checkpoint, if there is one
  // Checkpoints of an earlier training go once the first of this one is durable. Without it and
  // without `resume` a directory that has some is refused.
  bool overwrite = false;
  // Resume although the data are not those of the checkpoint.
  bool allow_other_data = false;
  int profiled_batches = 0;  // the first so many are recorded, for WriteProfile
  int threads = 0;           // where the config has none; 0: the physical cores
  // Joins ranks that train together, each with a trainer and its share of every batch: steps,
  // losses and weights are those of one rank with the whole batch. Rank 0 evaluates and writes
  // checkpoints; what any rank is asked by `stop` and `interrupted`, which all have or none, ends
  // all. Null: one rank.
  std::shared_ptr<Communicator> communicator = nullptr;
};

// Not thread-safe.
class Trainer {
 public:
  // InvalidArgument: a configuration that ValidateTrainConfig refuses, or that does not fit the
  // model or the data; others as reading either.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const TrainConfig& config,
                                                         TrainerOptions options);

  // Trains to the end. Errors: data (see Dataset), a loss that is not finite (FailedPrecondition,
  // names the step) unless the config skips it.
  absl::Status Run();

  // On every rank, where there are several.
  absl::StatusOr<Evaluation> Evaluate() { return EvaluateTogether(); }
  // The trained model in inference form, with the weights of `exported_step`, as averages where the
  // config has such and a step has counted. Uniform averages of models with BatchNormalizations go
  // through the training data once, for their running statistics. Its metadata says how images
  // become its input, the names of its classes and the vocabulary of its text, where the data have
  // such (training/data/model_notes.h).
  absl::StatusOr<Model> TrainedModel() const;
  absl::Status Export(const std::string& path) const;
  // One step as a model with TrainingInfoProto, in ops of the standard alone: inputs are the batch
  // and the state as it stands, outputs the loss and "next/<state>". FailedPrecondition: gradients
  // are accumulated over several batches.
  absl::Status ExportStep(const std::string& path) const;

  int64_t steps_done() const { return progress_.step; }
  // The training was interrupted before the evaluation after that step; Run makes it first.
  bool evaluation_due() const { return progress_.evaluation_due.has_value(); }
  // Why the last Run came to its end.
  TrainingEnd end() const { return end_; }
  // The error of the checkpoint after the last step, which Run tried for `checkpoint.wait_seconds`.
  const absl::Status& checkpoint_status() const { return checkpoint_status_; }
  // Makes room on a full disk: removes the oldest checkpoint that is neither the best nor the
  // newest whole one. False: there is none.
  bool RemoveOldCheckpoint() { return checkpoints_ != nullptr && checkpoints_->GiveWay(); }
  // Nothing where no evaluation has been made, or all were NaN.
  std::optional<BestEvaluation> best() const;
  // The step after which the weights of TrainedModel were: once Run has come to its end the best
  // one, where the config has an evaluation and does not ask for the last weights (export.weights).
  int64_t exported_step() const { return best_weights_ ? best_weights_->step : progress_.step; }
  int64_t total_steps() const { return total_steps_; }
  int64_t steps_per_epoch() const;
  const TrainingMemory& planned_memory() const { return planned_; }
  int64_t planned_bytes() const { return planned_.total(); }
  int64_t state_bytes() const { return planned_.state; }
  int64_t peak_bytes() const { return memory_->peak(); }  // of tensors, so far
  // Of the first TrainerOptions::profiled_batches, with the update of the weights where that is a
  // graph of its own, see Session.
  absl::Status WriteProfile(const std::string& path) const;
  std::optional<MemoryPeak> RecordedPeak() const;
  int recomputed_segments() const { return segments_; }
  const std::vector<std::string>& parameters() const { return phases_.parameters; }
  // Names of the classes that targets count, where the data has names for them.
  std::vector<std::string> class_names() const;
  // Of all float initializers: whether each is trained, and why.
  const std::vector<WeightChoice>& choices() const { return phases_.choices; }
  TrainingSession& session() { return *session_; }
  // The nodes of the graphs that make a step, in their order.
  std::vector<NodeExplanation> ExplainStep() const;

 private:
  Trainer(const TrainConfig& config, TrainerOptions options);

  absl::Status Open();
  int rank() const;
  int ranks() const;
  void SetActivity(const std::string& activity) const;
  absl::Status StartTogether();
  bool AnyRank(bool value) const;
  absl::StatusOr<Evaluation> EvaluateTogether();
  absl::StatusOr<Evaluation> EvaluateAlone();
  absl::Status RunSteps();
  absl::Status OpenData();
  absl::Status MakeSession(std::vector<Model> models);
  absl::Status FitSession();
  absl::Status PlanMemory(int64_t budget);
  absl::Status PlanPhase(size_t phase, const DataConfig& data, const BatchSizes& sizes,
                         PlannedMemory* sum);
  absl::Status MeasurePhase(size_t phase, const DataConfig& data, Loader& loader,
                            const BatchSizes& sizes);
  absl::StatusOr<Lbfgs::Memory> PlanLbfgs() const;
  bool ComesBeforeTheEnd(bool has_every_steps, int64_t every_steps) const;
  bool SavesBeforeTheEnd() const;
  absl::Status CheckLimit() const;
  int64_t TotalSteps() const;
  void ReleaseWeights();
  // `state`: null: as the session has it.
  absl::StatusOr<Model> ModelWithWeights(bool averaged,
                                         const std::map<std::string, Tensor>* state) const;
  absl::Status SetAverageWeight();
  void WarnOfLateAverage() const;
  bool HasAverage() const;
  absl::Status UpdateAverageStatistics() const;
  void WarnOfEmptyGroups() const;
  absl::Status CheckEvaluation() const;
  void WarnOfUncountedTargets() const;
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
  absl::Status SaveLastCheckpoint();
  bool HasCheckpoint(int64_t step) const;
  std::vector<std::string> CheckpointDirectories() const;
  void Warn(const std::string& message) const;

  const TrainConfig config_;
  const TrainerOptions options_;
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
  std::shared_ptr<SharedArena> arena_;  // of the phases
  // Of the best evaluation: kept where no checkpoints are written, else found once Run ends.
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

}  // namespace onward
