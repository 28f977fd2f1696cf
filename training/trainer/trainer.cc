#include "training/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/shared_arena.h"
#include "graph/base/byte_text.h"
#include "graph/base/machine_memory.h"
#include "onward/status.h"
#include "training/config/check_config.h"
#include "training/data/sources.h"
#include "training/prepare/load_model.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/recompute.h"

namespace onward {
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

bool Maximizes(const TrainConfig& config) { return config.evaluation().metric() == "accuracy"; }

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const TrainConfig& config,
                                                         TrainerOptions options) {
  ONWARD_RETURN_IF_ERROR(ValidateTrainConfig(config));
  std::unique_ptr<Trainer> made(new Trainer(config, std::move(options)));
  ONWARD_RETURN_IF_ERROR(Caught([&] { return made->Open(); }));
  return made;
}

Trainer::Trainer(const TrainConfig& config, TrainerOptions options)
    : config_(config),
      options_(std::move(options)),
      scaler_(config_, progress_, [this](const std::string& message) { Warn(message); }),
      checks_(config_, progress_, scaler_, [this](const std::string& message) { Warn(message); }) {}

absl::Status Trainer::Open() {
  SetActivity("the preparation of the training");
  ONWARD_ASSIGN_OR_RETURN(const int64_t limit, ParseBytes("max_memory", config_.max_memory()));
  memory_ = std::make_shared<MemoryLimit>(limit > 0 ? limit : MachineMemory());
  const MemoryScope scope(memory_);
  ONWARD_ASSIGN_OR_RETURN(trained_, LoadModel(config_, options_.directory, options_.on_warning));
  ONWARD_RETURN_IF_ERROR(OpenData());
  ONWARD_RETURN_IF_ERROR(FitSession());
  WarnOfEmptyGroups();
  WarnOfUncountedTargets();
  ONWARD_RETURN_IF_ERROR(CheckEvaluation());
  ONWARD_RETURN_IF_ERROR(checks_.CheckState(*session_));
  ReleaseWeights();
  ONWARD_RETURN_IF_ERROR(OpenSteps());
  ONWARD_RETURN_IF_ERROR(OpenCheckpoints());
  return StartTogether();
}

absl::Status Trainer::OpenData() {
  const auto open = [&](const DataConfig& config, int64_t batch_size, bool training,
                        std::unique_ptr<Loader>& loader) -> absl::Status {
    ONWARD_ASSIGN_OR_RETURN(const auto data, OpenDataset(config, options_.data_directory.empty()
                                                                     ? options_.directory
                                                                     : options_.data_directory));
    ONWARD_ASSIGN_OR_RETURN(LoaderOptions loading, OptionsOf(config, *data, training));
    loading.batch_size = batch_size;
    loading.seed = config_.seed();
    if (training) {
      loading.rank = rank();
      loading.ranks = ranks();
      fields_ = data->fields();
      data_ = data;
    }
    ONWARD_ASSIGN_OR_RETURN(loader, Loader::Create(data, loading));
    return absl::OkStatus();
  };
  ONWARD_RETURN_IF_ERROR(
      Annotate(open(config_.data(), config_.batch_size(), true, loader_), "data:"));
  if (config_.accumulate() > loader_->batches_per_epoch()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "accumulate: a step of ", config_.accumulate(), " batches is more than the data have: ",
        loader_->batches_per_epoch(), " batches of ", config_.batch_size(), " in an epoch of ",
        data_->size(), " examples; lower accumulate or batch_size"));
  }
  if (!config_.has_evaluation()) return absl::OkStatus();
  const EvaluationConfig& evaluation = config_.evaluation();
  return Annotate(open(evaluation.data(),
                       evaluation.has_batch_size() ? evaluation.batch_size() : config_.batch_size(),
                       false, evaluation_loader_),
                  "evaluation.data:");
}

absl::Status Trainer::MakeSession(std::vector<Model> models) {
  SessionOptions session;
  session.pool = std::make_shared<ThreadPool>(config_.threads() > 0  ? config_.threads()
                                              : options_.threads > 0 ? options_.threads
                                                                     : PhysicalCores());
  session.communicator = options_.communicator;
  session.seed = config_.seed();
  session.deterministic = config_.deterministic();
  session.precision = SessionPrecision(config_);
  session.memory = memory_;
  session.arena = arena_ = std::make_shared<SharedArena>();
  std::vector<SessionOptions> options(models.size(), session);
  options[0].profile = options_.profiled_batches > 0;
  options[0].profile_runs = options_.profiled_batches;
  if (phases_.apply) {
    SessionOptions& update = options[*phases_.apply];
    update.profile = options[0].profile;
    update.profile_runs = static_cast<int>(options_.profiled_batches / config_.accumulate());
    update.profile &= update.profile_runs > 0;
  }
  if (config_.log().detect_anomaly()) {
    for (size_t i = 0; i < options.size(); ++i) {
      options[i].watch = checks_.Watch(i >= phases_.evaluate, [this, i]() -> const Graph& {
        return session_->session(i).graph();
      });
    }
  }
  const std::vector<std::string> named(config_.recompute().segment().begin(),
                                       config_.recompute().segment().end());
  if (!named.empty() || segments_ > 1) {
    options[0].rewrite = [named, count = segments_](Graph& graph) {
      return Annotate(Recompute(graph, graph.FindValue("loss"), named, count), "recompute:");
    };
  }
  ONWARD_ASSIGN_OR_RETURN(session_, TrainingSession::Create(std::move(models), options));
  return absl::OkStatus();
}

absl::Status Trainer::Run() {
  const absl::Status status = Caught([this] { return RunSteps(); });
  const bool alone = status.ok() || options_.communicator == nullptr;
  return alone || options_.communicator->status().ok() ? status : options_.communicator->status();
}

absl::Status Trainer::RunSteps() {
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

absl::Status Trainer::AfterStep(int64_t epoch_before) {
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

// One that is interrupted stays due: a training that resumes makes it first.
absl::Status Trainer::EvaluateDue() {
  progress_.evaluation_due = 1;
  const absl::StatusOr<EvaluationReport> report = EvaluateNow();
  if (interrupted_ && absl::IsCancelled(report.status())) {
    stop_ = true;
    return absl::OkStatus();
  }
  if (!report.ok()) return report.status();
  progress_.evaluation_due.reset();
  metric_ = Maximizes(config_) ? report->evaluation.accuracy() : report->evaluation.loss;
  is_best_ = report->best;
  if (is_best_) KeepBest();
  return absl::OkStatus();
}

absl::StatusOr<Evaluation> Trainer::EvaluateAlone() {
  if (evaluation_loader_ == nullptr)
    return absl::FailedPreconditionError("the config has no evaluation");
  ONWARD_RETURN_IF_ERROR(UpdateAverageStatistics());
  const size_t phase = HasAverage() ? *phases_.evaluate_average : phases_.evaluate;
  absl::StatusOr<Evaluation> evaluation =
      onward::Evaluate(*evaluation_loader_, config_.evaluation().data(), config_.loss(),
                       session_->data_inputs(phase),
                       [&](const Session::Inputs& inputs) -> absl::StatusOr<Session::Outputs> {
                         interrupted_ |= options_.interrupted != nullptr && options_.interrupted();
                         if (interrupted_) return absl::CancelledError("interrupted");
                         return session_->Step(inputs, phase);
                       });
  evaluation_loader_->Rest();
  if (evaluation.ok() && !evaluation->not_finite.empty())
    Warn(absl::StrCat("evaluation.data: the data are not finite, ", evaluation->not_finite));
  return evaluation;
}

bool Trainer::OutOfPatience() const {
  const EvaluationConfig& evaluation = config_.evaluation();
  return evaluation.has_patience() && progress_.without_progress >= evaluation.patience();
}

absl::StatusOr<EvaluationReport> Trainer::EvaluateNow() {
  EvaluationReport report;
  absl::StatusOr<Evaluation> evaluation = Evaluate();
  if (!evaluation.ok())
    return Annotate(evaluation.status(),
                    absl::StrCat("the evaluation after step ", progress_.step, ":"));
  report.evaluation = *std::move(evaluation);
  report.step = progress_.step;
  report.epoch = loader_->position().epoch;
  const bool maximize = Maximizes(config_);
  if (maximize && !report.evaluation.accuracy())
    return absl::InvalidArgumentError(
        "evaluation.metric: no target counts for the accuracy (ignore_index of the loss leaves all "
        "out)");
  const double metric = maximize ? *report.evaluation.accuracy() : report.evaluation.loss;
  // NaN is never the best.
  report.best =
      !std::isnan(metric) &&
      (!progress_.best || (maximize ? metric > *progress_.best : metric < *progress_.best));
  if (report.best) {
    progress_.best = metric;
    progress_.best_step = progress_.step;
  }
  progress_.without_progress = report.best ? 0 : progress_.without_progress + 1;
  stop_ |= OutOfPatience();
  rates_->NotePlateaus(metric, maximize);
  if (options_.on_evaluation != nullptr) options_.on_evaluation(report);
  return report;
}

}  // namespace onward
