// The memory that a training needs, and the parts of the forward pass that are computed again so
// that it keeps to a budget.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/shared_arena.h"
#include "graph/base/byte_text.h"
#include "onward/status.h"
#include "training/config/make_optimizer.h"
#include "training/data/batch_sizes.h"
#include "training/step/make_phases.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

constexpr int kMostSegments = 64;

// The numbers of parts that the forward pass is cut into, in the order in which they are tried; 0:
// nothing is computed again. The least of all of them is wanted where a budget is tight: the others
// come after a choice of few.
std::vector<int> SegmentCounts() {
  std::vector<int> counts = {0, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, kMostSegments};
  const std::set<int> few(counts.begin(), counts.end());
  for (int count = 2; count < kMostSegments; ++count)
    if (!few.contains(count)) counts.push_back(count);
  return counts;
}

struct Batches {
  Batch first;
  BatchSizes sizes;
  // Bytes of those that are read ahead; with the one in use; with all of a step.
  int64_t ahead = 0, in_hand = 0, of_step = 0;
  int64_t examples = 0;  // memory that the examples of one take until they are together
};

// Reads `count` batches of a loader, so many in each step.
absl::StatusOr<Batches> ReadBatches(Loader& loader, int64_t count, int64_t per_step) {
  loader.Seek(0, 0);
  Batches batches;
  ONWARD_ASSIGN_OR_RETURN(batches.first, loader.Next());
  const std::shared_ptr<const Dataset> source = loader.places().data;
  loader.Rest();
  ONWARD_ASSIGN_OR_RETURN(batches.sizes, SizesOfBatches(*source, loader.options(), batches.first,
                                                        count, loader.read_ahead() + per_step));
  batches.ahead = batches.sizes.LargestBytesInARow(loader.read_ahead());
  batches.in_hand = batches.sizes.LargestBytesInARow(loader.read_ahead() + 1);
  batches.of_step = batches.sizes.LargestBytesInARow(loader.read_ahead() + per_step);
  // Examples of data that is in memory are views of it.
  const std::shared_ptr<MemoryLimit>& memory = MemoryLimit::Current();
  const LoaderOptions& options = loader.options();
  const int64_t rows =
      batches.first.begin()->second.dims()[0] * (options.reads_whole_batches() ? options.ranks : 1);
  const int64_t before = memory->used();
  if (const auto example = source->Read(0, 0); !example.ok() || memory->used() > before)
    batches.examples = loader.made_at_a_time() * std::max(batches.sizes.LargestBytesInARow(1),
                                                          rows * (memory->used() - before));
  return batches;
}

}  // namespace

// The fewest recomputed segments that keep to the memory budget.
absl::Status TrainingLoop::FitSession() {
  ONWARD_ASSIGN_OR_RETURN(const int64_t budget, ParseBytes("recompute.memory_budget",
                                                           config_.recompute().memory_budget()));
  ONWARD_ASSIGN_OR_RETURN(
      phases_, MakeTrainingPhases(
                   trained_, config_, fields_,
                   {.all_reduce = ranks() > 1, .stop_after_patches = options_.stop_after_patches}));
  std::vector<Phase> graphs = std::exchange(phases_.graphs, {});
  if (!config_.has_evaluation()) {
    // The export takes the statistics of averages without an evaluation too.
    if (phases_.statistics) {
      graphs[phases_.evaluate] = std::move(graphs[*phases_.statistics]);
      phases_.statistics = phases_.evaluate;
    }
    graphs.resize(phases_.evaluate + (phases_.statistics ? 1 : 0));
  }
  const bool named = config_.recompute().segment_size() > 0;
  int64_t least = 0;
  int unmeasured = 0;
  for (const int segments : SegmentCounts()) {
    segments_ = segments;
    session_.reset();
    memory_->ResetPeak();
    ONWARD_RETURN_IF_ERROR(MakeSession(budget == 0 ? std::move(graphs) : graphs));
    ONWARD_RETURN_IF_ERROR(PlanMemory(budget));
    if (budget == 0 || planned_.total() <= budget) {
      graphs.clear();
      if (planned_.sized_at_run == 0) planned_.held = memory_->used();
      return CheckLimit();
    }
    if (segments == 0 || planned_.total() < least) {
      least = planned_.total();
      unmeasured = planned_.measured == 0 ? planned_.sized_at_run : 0;
    }
    if (named) break;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "recompute.memory_budget: the training needs ", least, " bytes at least",
      unmeasured == 0
          ? ""
          : absl::StrCat(" and what ", unmeasured, " nodes take whose sizes data decides"),
      named
          ? ", with the segments that the config names computed again"
          : absl::StrCat(", the least of the cuts that are tried: the forward pass whole, and in 2 "
                         "to ",
                         kMostSegments, " parts that are computed again"),
      "; the budget is ", BytesText(budget), " (a smaller batch_size needs less)"));
}

// Adds the memory of a phase to the plan.
absl::Status TrainingLoop::PlanPhase(size_t phase, const DataConfig& data, const BatchSizes& sizes,
                                     PlannedMemory* sum) {
  PlannedMemory most;
  const auto plan = [&](const Batch& batch) -> absl::StatusOr<int64_t> {
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(session_->data_inputs(phase), batch, data));
    const int64_t before = memory_->used();
    ONWARD_ASSIGN_OR_RETURN(const PlannedMemory needs, session_->PlanMemory(given, phase));
    most.arena = std::max(most.arena, needs.arena);
    most.outputs = std::max(most.outputs, needs.outputs);
    most.updates = std::max(most.updates, needs.updates);
    most.copied_updates = std::max(most.copied_updates, needs.copied_updates);
    most.sized_at_run = std::max(most.sized_at_run, needs.sized_at_run);
    return memory_->used() - before;
  };
  for (const SizedBatch& sized : sizes.largest) ONWARD_RETURN_IF_ERROR(plan(sized.batch).status());
  if (sizes.other) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, plan(sizes.other->batch));
    const auto planned = static_cast<int64_t>(sizes.largest.size()) + 1;
    planned_.plans +=
        bytes * std::max<int64_t>(
                    0, std::min<int64_t>(sizes.kinds, SessionOptions().max_bindings + 1) - planned);
  }
  planned_.arena = std::max(planned_.arena, most.arena);
  sum->outputs += most.outputs;
  sum->updates += most.updates;
  sum->copied_updates += most.copied_updates;
  sum->sized_at_run += most.sized_at_run;
  return absl::OkStatus();
}

// Runs a phase where its plan does not have all, and adds what it took besides.
absl::Status TrainingLoop::MeasurePhase(size_t phase, const DataConfig& data, Loader& loader,
                                        const BatchSizes& sizes) {
  const Loader::Position at = sizes.largest[0].position.value_or(Loader::Position());
  loader.Seek(at.epoch, at.batch);
  const absl::StatusOr<Batch> read = loader.Next();
  loader.Rest();
  if (!read.ok()) return absl::OkStatus();  // the step that reads it says what is wrong
  const Batch& batch = *read;
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session_->data_inputs(phase), batch, data));
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory needs, session_->PlanMemory(given, phase));
  if (needs.sized_at_run == 0) return absl::OkStatus();
  const absl::StatusOr<int64_t> taken = session_->MeasureMemory(given, phase);
  if (absl::IsResourceExhausted(taken.status())) return taken.status();
  if (!taken.ok()) return absl::OkStatus();  // the first step says what is wrong
  planned_.measured +=
      std::max<int64_t>(0, *taken - needs.outputs - needs.updates - needs.copied_updates);
  return absl::OkStatus();
}

absl::Status TrainingLoop::PlanMemory(int64_t budget) {
  planned_ = TrainingMemory();
  ONWARD_ASSIGN_OR_RETURN(
      const Batches batches,
      ReadBatches(*loader_, TotalSteps() * config_.accumulate(), config_.accumulate()));
  PlannedMemory step, evaluation, statistics;
  ONWARD_RETURN_IF_ERROR(PlanPhase(0, config_.data(), batches.sizes, &step));
  if (phases_.apply)
    ONWARD_RETURN_IF_ERROR(PlanPhase(*phases_.apply, config_.data(), batches.sizes, &step));
  Batches evaluated;
  const size_t evaluate = phases_.evaluate_average.value_or(phases_.evaluate);
  const DataConfig& evaluation_data = config_.evaluation().data();
  if (evaluation_loader_ != nullptr) {
    absl::StatusOr<Batches> read =
        ReadBatches(*evaluation_loader_, evaluation_loader_->batches_per_epoch(), 1);
    if (!read.ok()) return Annotate(read.status(), "evaluation.data:");
    evaluated = *std::move(read);
    ONWARD_RETURN_IF_ERROR(Annotate(
        InputsOf(session_->data_inputs(evaluate), evaluated.first, evaluation_data).status(),
        "evaluation:"));
    ONWARD_RETURN_IF_ERROR(Annotate(
        PlanPhase(evaluate, evaluation_data, evaluated.sizes, &evaluation), "evaluation.data:"));
    planned_.batches = batches.ahead + evaluated.in_hand + evaluated.examples;
  }
  // Read by a loader of their own.
  if (phases_.statistics) {
    ONWARD_ASSIGN_OR_RETURN(const Batches epoch, ReadBatches(*loader_, loader_->batches_per_epoch(),
                                                             config_.accumulate()));
    ONWARD_RETURN_IF_ERROR(
        PlanPhase(*phases_.statistics, config_.data(), epoch.sizes, &statistics));
    planned_.batches = std::max(planned_.batches, batches.ahead + epoch.in_hand + epoch.examples);
  }
  planned_.batches = std::max(planned_.batches, batches.in_hand + batches.examples);
  planned_.outputs = step.outputs + std::max(evaluation.outputs, statistics.outputs);
  planned_.copies = step.copied_updates + (SkipsSteps(config_) ? step.updates : 0);
  planned_.sized_at_run = step.sized_at_run + evaluation.sized_at_run + statistics.sized_at_run;
  ONWARD_RETURN_IF_ERROR(PlanState());
  planned_.held = memory_->used();
  planned_.creation = memory_->peak();
  int64_t written = planned_.state, written_at_end = 0;
  if (IsLbfgs(config_)) {
    ONWARD_ASSIGN_OR_RETURN(const Lbfgs::Memory lbfgs, PlanLbfgs());
    written += lbfgs.exported;
    planned_.optimizer = lbfgs.kept + lbfgs.working;
    written_at_end = lbfgs.exported - lbfgs.working;
    planned_.batches = std::max(planned_.batches, batches.of_step + batches.examples);
  }
  const int64_t most = budget > 0 ? std::min(budget, memory_->limit()) : memory_->limit();
  if (planned_.sized_at_run > 0 && planned_.total() <= most) {
    ONWARD_RETURN_IF_ERROR(arena_->Reserve(planned_.arena).status());
    // A run that fails on one rank would leave the others waiting.
    if (ranks() == 1)
      ONWARD_RETURN_IF_ERROR(MeasurePhase(0, config_.data(), *loader_, batches.sizes));
    if (evaluation_loader_ != nullptr)
      ONWARD_RETURN_IF_ERROR(
          MeasurePhase(evaluate, evaluation_data, *evaluation_loader_, evaluated.sizes));
  }
  PlanCheckpoints(written, written_at_end, most);
  return absl::OkStatus();
}

absl::Status TrainingLoop::PlanState() {
  // The best weights are kept where no checkpoints have them and steps follow.
  const bool keeps_best =
      ExportsBest() && options_.checkpoint_directory.empty() &&
      ComesBeforeTheEnd(config_.evaluation().has_every_steps(), config_.evaluation().every_steps());
  for (const std::string& name : session_->state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor state, session_->State(name));
    planned_.state += state.byte_size();
    const bool is_weight = trained_.model.graph.is_constant(trained_.model.graph.FindValue(name)) ||
                           name.starts_with(kAveragePrefix);
    if (is_weight && keeps_best) planned_.copies += state.byte_size();
  }
  return absl::OkStatus();
}

// `written`: by a checkpoint; `written_at_end`: by the last one, beside what a step takes.
void TrainingLoop::PlanCheckpoints(int64_t written, int64_t written_at_end, int64_t limit) {
  // A step that runs while a checkpoint is written leaves the state that is written as it is.
  waits_for_checkpoints_ = false;
  if (SavesBeforeTheEnd() && !SkipsSteps(config_)) {
    waits_for_checkpoints_ = planned_.total() + written > limit;
    if (!waits_for_checkpoints_) planned_.copies += written;
  }
  if (!options_.checkpoint_directory.empty() && (!SavesBeforeTheEnd() || waits_for_checkpoints_))
    planned_.optimizer += std::max<int64_t>(0, written_at_end);
}

// The memory that LBFGS keeps and works with.
absl::StatusOr<Lbfgs::Memory> TrainingLoop::PlanLbfgs() const {
  const Lbfgs::Options made = MakeLbfgsOptions(config_.optimizer().lbfgs());
  int64_t elements = 0, bytes = 0;
  for (const std::string& name : phases_.parameters) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor value, session_->State(name));
    elements += value.num_elements();
    bytes += value.byte_size();
  }
  return Lbfgs::MemoryOf(made, elements, bytes, TotalSteps(), options_.interrupted != nullptr);
}

// Returns whether what comes every so many steps, or after every epoch, comes before the end.
bool TrainingLoop::ComesBeforeTheEnd(bool has_every_steps, int64_t every_steps) const {
  return TotalSteps() > (has_every_steps ? every_steps : steps_per_epoch());
}

bool TrainingLoop::SavesBeforeTheEnd() const {
  return !options_.checkpoint_directory.empty() &&
         ComesBeforeTheEnd(config_.checkpoint().has_every_steps(),
                           config_.checkpoint().every_steps());
}

absl::Status TrainingLoop::CheckLimit() const {
  if (planned_.total() <= memory_->limit()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("max_memory: the training needs ", BytesText(planned_.total()), " at its peak, ",
                   BytesText(planned_.held), " of them weights, state and data; the limit is ",
                   BytesText(memory_->limit()),
                   " (a smaller batch_size and recompute.memory_budget need less)"));
}

}  // namespace onward::training
