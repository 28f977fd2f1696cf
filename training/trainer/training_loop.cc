#include "training/trainer/training_loop.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/place_rank.h"
#include "executors/shared_arena.h"
#include "graph/base/byte_text.h"
#include "graph/base/machine_memory.h"
#include "onward/status.h"
#include "training/config/check_config.h"
#include "training/metrics/metrics.h"
#include "training/prepare/load_model.h"
#include "training/trainer/phase_sessions.h"
#include "training/trainer/trained_model.h"

namespace onward::training {
namespace {

// Tensors that find no memory throw.
template <typename Work>
absl::Status Caught(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(error.what());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingLoop>> TrainingLoop::Create(const TrainConfig& config,
                                                                   TrainerOptions options) {
  TrainConfig complete = config;
  if (options.data != nullptr) complete.mutable_data();
  if (options.evaluation_data != nullptr) complete.mutable_evaluation()->mutable_data();
  std::optional<Model> model = std::exchange(options.model, std::nullopt);
  ONWARD_RETURN_IF_ERROR(StatusOf(CheckTrainConfig(complete, model.has_value())));
  ONWARD_RETURN_IF_ERROR(CheckGivenMetrics(complete.evaluation(), options.metrics));
  std::unique_ptr<TrainingLoop> made(new TrainingLoop(complete, std::move(options)));
  ONWARD_RETURN_IF_ERROR(Caught([&] { return made->Open(std::move(model)); }));
  return made;
}

TrainingLoop::TrainingLoop(const TrainConfig& config, TrainerOptions options)
    : config_(config),
      options_(std::move(options)),
      scaler_(config_, progress_, options_.log),
      checks_(config_, progress_, scaler_, options_.log) {}

absl::Status TrainingLoop::Open(std::optional<Model> model) {
  SetActivity("the preparation of the training");
  ONWARD_ASSIGN_OR_RETURN(const int64_t limit, ParseBytes("max_memory", config_.max_memory()));
  memory_ = std::make_shared<MemoryLimit>(limit > 0 ? limit : MachineMemory());
  const MemoryScope scope(memory_);
  ONWARD_ASSIGN_OR_RETURN(trained_,
                          LoadModel(config_, options_.directory, options_.log, std::move(model)));
  ONWARD_RETURN_IF_ERROR(OpenData());
  ONWARD_RETURN_IF_ERROR(FitSession());
  WarnOfEmptyGroups();
  WarnOfUncountedTargets();
  WarnOfProbabilities();
  ONWARD_RETURN_IF_ERROR(CheckEvaluation());
  ONWARD_RETURN_IF_ERROR(checks_.CheckState(*session_));
  // The session has the weights from now on.
  weights_ = ReleaseWeights(phases_.weights(), trained_.model.graph);
  ONWARD_RETURN_IF_ERROR(OpenSteps());
  ONWARD_RETURN_IF_ERROR(OpenCheckpoints());
  return StartTogether();
}

absl::Status TrainingLoop::MakeSession(std::vector<Phase> graphs) {
  SessionOptions session = OptionsOfSessions(config_, options_.threads);
  session.communicator = options_.communicator;
  session.stop_after_patches = phases_.patches_left;
  session.memory = memory_;
  session.log = options_.log;
  session.counters = options_.counters;
  ONWARD_RETURN_IF_ERROR(executors::PlaceRank(session));
  options_.communicator = session.communicator;
  std::vector<SessionOptions> options(graphs.size(), session);
  options[0].profile = options_.profiled_batches > 0;
  options[0].profile_runs = options_.profiled_batches;
  options[0].profile_skip = options_.profile_skip;
  if (phases_.apply) {
    SessionOptions& update = options[*phases_.apply];
    update.profile = options[0].profile;
    update.profile_runs = static_cast<int>(options_.profiled_batches / config_.accumulate());
    update.profile_skip = static_cast<int>(options_.profile_skip / config_.accumulate());
    update.profile &= update.profile_runs > 0;
  }
  WatchPhases(
      config_, phases_, checks_,
      [this](size_t phase) -> const Graph& { return session_->session(phase).graph(); }, options);
  const std::vector<Pass> late = RecomputePasses(config_, graphs[0], segments_);
  arena_ = std::make_shared<executors::SharedArena>();
  ONWARD_ASSIGN_OR_RETURN(session_,
                          TrainingSession::Create(std::move(graphs), options, late, arena_));
  return absl::OkStatus();
}

absl::Status TrainingLoop::Run() {
  const absl::Status status = Caught([this] { return RunSteps(); });
  const bool alone = status.ok() || options_.communicator == nullptr;
  return alone || options_.communicator->status().ok() ? status : options_.communicator->status();
}

absl::Status TrainingLoop::RunSteps() {
  const MemoryScope scope(memory_);
  if (progress_.step < total_steps_)
    ONWARD_RETURN_IF_ERROR(arena_->Reserve(planned_.arena).status());
  loader_->Seek(progress_.epoch, progress_.batch);
  const int64_t broken_before = loader_->broken_examples();  // in the batch that sizes are from
  if (evaluation_loader_ == nullptr) progress_.evaluation_due.reset();
  if (progress_.evaluation_due) {
    ONWARD_RETURN_IF_ERROR(EvaluateDue());
    saved_step_ = -1;
    SaveCheckpoint(metric_);
  }
  stop_ |= OutOfPatience();  // a training that has ended so and is resumed
  while (progress_.step < total_steps_ && !stop_) {
    // A step that may be skipped keeps two states; a third would come of what is being written.
    if (checkpoints_ != nullptr && SkipsSteps(config_) && progress_.step == saved_step_ + 1)
      WaitForCheckpoint();
    const int64_t epoch = loader_->position().epoch;
    const TrainingProgress before = progress_;
    SetActivity(absl::StrCat("step ", progress_.step + 1));
    ONWARD_RETURN_IF_ERROR(step_->Begin());
    absl::StatusOr<StepReport> report = MakeStep();
    if (interrupted_ && absl::IsCancelled(report.status())) {
      progress_ = before;
      ONWARD_RETURN_IF_ERROR(step_->Undo());
      SaveCheckpoint(metric_);
      break;
    }
    if (!report.ok()) return report.status();
    progress_.skipped += report->skipped;
    Count("training/steps");
    Count("training/skipped_steps", report->skipped);
    report->skipped_steps = progress_.skipped;
    report->broken_examples = loader_->broken_examples() - broken_before;
    progress_.epoch = loader_->position().epoch;
    progress_.batch = loader_->position().batch;
    if (options_.on_step != nullptr) options_.on_step(*report);
    if (options_.stop != nullptr) stop_ |= AnyRank(options_.stop());
    stop_ |= Interrupted();
    ONWARD_RETURN_IF_ERROR(AfterStep(epoch));
  }
  checkpoint_status_ = SaveLastCheckpoint();
  end_ = OutOfPatience()                                             ? TrainingEnd::kPatience
         : progress_.step < total_steps_ || progress_.evaluation_due ? TrainingEnd::kStopped
                                                                     : TrainingEnd::kSteps;
  FindBest();
  return absl::OkStatus();
}

absl::Status TrainingLoop::AfterStep(int64_t epoch_before) {
  const bool epoch_ended = progress_.epoch > epoch_before;
  const bool last = progress_.step == total_steps_;
  metric_.reset();
  is_best_ = false;
  if (evaluation_loader_ != nullptr) {
    const EvaluationConfig& evaluation = config_.evaluation();
    const bool due =
        evaluation.has_every_steps() ? progress_.step % evaluation.every_steps() == 0 : epoch_ended;
    if (due || last) ONWARD_RETURN_IF_ERROR(EvaluateDue());
  }
  const CheckpointConfig& checkpoint = config_.checkpoint();
  const bool due =
      checkpoint.has_every_steps() ? progress_.step % checkpoint.every_steps() == 0 : epoch_ended;
  if (last && !Interrupted()) ONWARD_RETURN_IF_ERROR(UpdateAverageStatistics());
  if (due || last || stop_ || (is_best_ && ExportsBest())) SaveCheckpoint(metric_);
  return absl::OkStatus();
}

}  // namespace onward::training
