#include "training/trainer/stepwise.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/place_rank.h"
#include "onward/status.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/prepare/load_model.h"
#include "training/step/average_weight.h"
#include "training/step/batch_inputs.h"
#include "training/step/make_phases.h"
#include "training/step/make_step.h"
#include "training/step/running_statistics.h"
#include "training/step/step_outputs.h"
#include "training/trainer/phase_sessions.h"
#include "training/trainer/rates.h"
#include "training/trainer/same_training.h"
#include "training/trainer/start_together.h"
#include "training/trainer/trained_model.h"
#include "training/trainer/training_state.h"

namespace onward::training {

Stepwise::Stepwise(TrainConfig config, StepwiseOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      scaler_(config_, progress_, options_.log),
      checks_(config_, progress_, scaler_, options_.log),
      batches_(is_alone() ? 1 : options_.communicator->size()) {}

absl::Status Stepwise::Open(Model model, const std::vector<Field>& fields) {
  ONWARD_ASSIGN_OR_RETURN(trained_, LoadModel(config_, "", options_.log, std::move(model)));
  PhaseOptions phases;
  phases.all_reduce = !is_alone();
  ONWARD_ASSIGN_OR_RETURN(phases_, MakeTrainingPhases(trained_, config_, fields, phases));
  ONWARD_RETURN_IF_ERROR(MakeSession(std::exchange(phases_.graphs, {})));
  ONWARD_RETURN_IF_ERROR(checks_.CheckState(*session_));
  // The session has the weights from now on.
  weights_ = ReleaseWeights(phases_.weights(), trained_.model.graph);
  // A step that nobody interrupts would not remember what an error in its middle must bring back.
  const auto interrupted = [] { return false; };
  ONWARD_ASSIGN_OR_RETURN(step_, MakeTrainingStep({config_, phases_, *session_, batches_, progress_,
                                                   checks_, interrupted}));
  if (!is_alone()) {
    ONWARD_RETURN_IF_ERROR(
        StartTogether(*options_.communicator, config_, phases_.evaluate, {}, *session_));
  }
  return SetRateFactor(1);
}

absl::Status Stepwise::MakeSession(std::vector<Phase> graphs) {
  SessionOptions options = OptionsOfSessions(config_);
  options.communicator = options_.communicator;
  options.log = options_.log;
  ONWARD_RETURN_IF_ERROR(executors::PlaceRank(options));
  options_.communicator = options.communicator;
  std::vector<SessionOptions> by_phase(graphs.size(), options);
  WatchPhases(
      config_, phases_, checks_,
      [this](size_t phase) -> const Graph& { return session_->session(phase).graph(); }, by_phase);
  const std::vector<Pass> late = RecomputePasses(config_, graphs[0], /*segments=*/0);
  ONWARD_ASSIGN_OR_RETURN(session_, TrainingSession::Create(std::move(graphs), by_phase, late));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> Stepwise::RowsOf(absl::Span<const Batch> batches) const {
  const int64_t most = config_.accumulate();
  if (batches.empty() || static_cast<int64_t>(batches.size()) > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("a step of ", batches.size(), " batches: accumulate allows 1 to ", most));
  }
  std::vector<int64_t> rows;
  for (const Batch& batch : batches) {
    const std::vector<ValueInfo>& inputs = session_->data_inputs();
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given, InputsOf(inputs, batch, config_.data()));
    rows.push_back(1);
    for (const ValueInfo& input : inputs) {
      const auto it = given.find(input.name);
      if (it == given.end() || !it->second.is_tensor() || it->second.tensor().rank() == 0) continue;
      rows.back() = it->second.tensor().dims()[0];
      break;
    }
  }
  return rows;
}

absl::StatusOr<std::vector<BatchSlice>> Stepwise::SlicesOf(absl::Span<const Batch> batches) const {
  const absl::StatusOr<std::vector<int64_t>> rows = RowsOf(batches);
  std::vector<BatchSlice> slices;
  if (is_alone()) {
    if (!rows.ok()) return rows.status();
    for (const int64_t each : *rows) slices.push_back({0, each, each});
    return slices;
  }
  // By rank: the number of batches (0: refused), then the rows of each.
  Communicator& communicator = *options_.communicator;
  const int64_t width = config_.accumulate() + 1;
  Tensor told(DType::kFloat64, {communicator.size(), width});
  double* numbers = told.mutable_data<double>();
  std::fill(numbers, numbers + told.num_elements(), 0.0);
  double* own = numbers + communicator.rank() * width;
  if (rows.ok()) {
    own[0] = static_cast<double>(rows->size());
    std::copy(rows->begin(), rows->end(), own + 1);
  }
  ONWARD_RETURN_IF_ERROR(communicator.AllReduce(told.view()));
  if (!rows.ok()) return rows.status();
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const double count = numbers[rank * width];
    if (count == own[0]) continue;
    return absl::FailedPreconditionError(
        count == 0 ? absl::StrCat("rank ", rank, " has no batch for the step that it can take")
                   : absl::StrCat("rank ", rank, " has ", count, " batches for the step, rank ",
                                  communicator.rank(), " has ", own[0]));
  }
  for (size_t i = 0; i < rows->size(); ++i) {
    BatchSlice& slice = slices.emplace_back(BatchSlice{0, (*rows)[i], 0});
    for (int rank = 0; rank < communicator.size(); ++rank) {
      const auto each = static_cast<int64_t>(numbers[rank * width + 1 + static_cast<int64_t>(i)]);
      if (rank < communicator.rank()) slice.begin += each;
      slice.whole += each;
    }
  }
  return slices;
}

absl::StatusOr<double> Stepwise::StepOver(absl::Span<const Batch> batches) {
  if (!is_alone()) options_.communicator->set_activity(absl::StrCat("step ", progress_.step + 1));
  ONWARD_ASSIGN_OR_RETURN(std::vector<BatchSlice> slices, SlicesOf(batches));
  batches_.Give(batches, std::move(slices));
  const TrainingProgress before = progress_;
  ONWARD_RETURN_IF_ERROR(step_->Begin());
  if (const absl::Status made = MakeStep(); !made.ok()) {
    progress_ = before;
    ONWARD_RETURN_IF_ERROR(step_->Undo());
    return made;
  }
  return report_.loss;
}

absl::Status Stepwise::MakeStep() {
  report_ = StepReport();
  const double begin = Now();
  for (const GroupSettings& group : phases_.groups)
    report_.rates.push_back(BaseRate(group) * rate_factor_);
  report_.rate = report_.rates.back();
  const int64_t averaged = progress_.averaged;
  ONWARD_RETURN_IF_ERROR(SetAverageWeight(config_, progress_, *session_));
  ONWARD_RETURN_IF_ERROR(scaler_.Set(*session_));
  session_->session().set_run_index(static_cast<uint64_t>(progress_.step * config_.accumulate()));
  ONWARD_ASSIGN_OR_RETURN(const bool finite, step_->Make(report_));
  // A step of one graph that keeps no state from before it has changed the weights.
  report_.skipped = !finite && (SkipsSteps(config_) || phases_.apply || IsLbfgs(config_));
  checks_.EndStep(report_.skipped);
  ONWARD_RETURN_IF_ERROR(checks_.Judge(report_.skipped));
  if (report_.skipped) progress_.averaged = averaged;
  scaler_.EndStep(finite, report_);
  progress_.skipped += report_.skipped;
  report_.skipped_steps = progress_.skipped;
  report_.step = ++progress_.step;
  report_.seconds = Now() - begin;
  return absl::OkStatus();
}

absl::StatusOr<double> Stepwise::Loss(const Batch& batch) {
  ONWARD_ASSIGN_OR_RETURN(const TrainingSession::Outputs outputs, Evaluate(batch));
  LossMean mean;
  mean.Add(session_->outputs(EvaluatingPhase()), outputs);
  return mean.value();
}

absl::StatusOr<Tensor> Stepwise::Predict(const Batch& batch) {
  ONWARD_ASSIGN_OR_RETURN(const TrainingSession::Outputs outputs, Evaluate(batch));
  const std::optional<size_t> prediction = session_->outputs(EvaluatingPhase()).prediction;
  if (!prediction)
    return absl::FailedPreconditionError(
        "Predict: the loss is not one of classes; run TrainedModel() in a Session");
  return outputs[*prediction].tensor();
}

size_t Stepwise::EvaluatingPhase() const {
  return HasAverage() ? *phases_.evaluate_average : phases_.evaluate;
}

absl::StatusOr<TrainingSession::Outputs> Stepwise::Evaluate(const Batch& batch) {
  ONWARD_RETURN_IF_ERROR(CheckAverageStatistics());
  const size_t phase = EvaluatingPhase();
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session_->data_inputs(phase), batch, config_.data()));
  TrainingSession::Outputs outputs;
  ONWARD_RETURN_IF_ERROR(session_->Step(given, outputs, phase));
  return outputs;
}

absl::Status Stepwise::SetRateFactor(double factor) {
  rate_factor_ = factor;
  for (const GroupSettings& group : phases_.groups) {
    ONWARD_RETURN_IF_ERROR(SetRate(group, {BaseRate(group) * factor, std::nullopt}, *session_));
  }
  return absl::OkStatus();
}

absl::Status Stepwise::SetState(const std::string& name, Tensor value) {
  ONWARD_RETURN_IF_ERROR(session_->State(name).status());
  return session_->Set(name, value.Clone());
}

absl::Status Stepwise::CheckAverageStatistics() const {
  if (!phases_.statistics || !HasAverage() || progress_.statistics_of == progress_.averaged)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the averaged weights have no running statistics of BatchNormalizations yet: call "
      "UpdateAverageStatistics with the training's batches first");
}

absl::Status Stepwise::UpdateAverageStatistics(const NextBatch& next) {
  if (!phases_.statistics || !HasAverage()) return absl::OkStatus();
  const size_t phase = *phases_.statistics;
  session_->session(phase).set_run_index(0);
  StatisticsMean mean(phases_.statistic_names);
  TrainingSession::Outputs outputs;
  int64_t batches = 0;
  while (true) {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<Batch> batch, next());
    if (!batch) break;
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(session_->data_inputs(phase), *batch, config_.data()));
    ONWARD_RETURN_IF_ERROR(session_->Step(given, outputs, phase));
    mean.Add(outputs);
    ++batches;
  }
  if (batches == 0)
    return absl::InvalidArgumentError("UpdateAverageStatistics: no batch was given");
  for (const auto& [name, value] : mean.Means())
    ONWARD_RETURN_IF_ERROR(session_->Set(kAveragePrefix + name, value));
  progress_.statistics_of = progress_.averaged;
  return absl::OkStatus();
}

absl::Status Stepwise::SaveCheckpoint(const std::string& directory, int keep) const {
  CheckpointOptions options;
  options.directory = directory;
  options.keep = keep;
  ONWARD_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Open(options));
  ONWARD_ASSIGN_OR_RETURN(TrainingState state, ReadState(*session_, *step_, progress_));
  state.values.merge(DescribeTraining(config_, "", ""));
  ONWARD_RETURN_IF_ERROR(writer->Save(std::move(state)));
  return writer->Wait();
}

absl::Status Stepwise::RestoreCheckpoint(const std::string& directory) {
  ONWARD_ASSIGN_OR_RETURN(LoadedCheckpoint loaded, LoadNewestCheckpoint(directory));
  for (const std::string& damaged : loaded.damaged)
    Warn(options_.log, "training", absl::StrCat(damaged, "; continuing from ", loaded.path));
  ONWARD_RETURN_IF_ERROR(
      Annotate(CheckSameTraining(loaded.state.values, DescribeTraining(config_, "", ""),
                                 /*allow_other_data=*/true, options_.log),
               absl::StrCat("the checkpoint ", loaded.path)));
  ONWARD_ASSIGN_OR_RETURN(progress_,
                          RestoreState(std::move(loaded.state), loaded.path, *session_, *step_));
  return absl::OkStatus();
}

absl::StatusOr<Model> Stepwise::TrainedModel() const {
  ONWARD_RETURN_IF_ERROR(CheckAverageStatistics());
  ONWARD_ASSIGN_OR_RETURN(const TrainingState state, ReadState(*session_, *step_, progress_));
  Model model = ModelWithWeights(trained_.model, weights_, HasAverage(), state.tensors);
  ONWARD_RETURN_IF_ERROR(ToInferenceForm(model));
  return model;
}

absl::Status Stepwise::Export(const std::string& path) const {
  ONWARD_ASSIGN_OR_RETURN(Model model, TrainedModel());
  return ExportTrainedModel(std::move(model), config_, path);
}

}  // namespace onward::training
