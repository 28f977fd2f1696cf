// How much memory a training needs, and which parts of the forward pass are computed again so that
// it keeps to a budget.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/shared_arena.h"
#include "graph/base/byte_text.h"
#include "graph/base/status.h"
#include "training/data/largest_batch.h"
#include "training/trainer.h"

namespace onward {
namespace {

// How often the forward pass is cut; 0: nothing is computed again.
constexpr int kSegments[] = {0, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};

// The first batch, and dims of the one that needs the most memory.
struct Batches {
  Batch first, largest;
  int64_t other_dims = 0;  // sets of dims that sessions remember besides
  int64_t bytes = 0;       // of the largest
  int64_t examples = 0;    // memory that its examples take until they are put together
};

// Of a loader that is asked for `count` batches.
absl::StatusOr<Batches> ReadBatches(Loader& loader, const DataConfig& data, int64_t count) {
  loader.Seek(0, 0);
  Batches batches;
  ONWARD_ASSIGN_OR_RETURN(batches.first, loader.Next());
  const std::shared_ptr<const Dataset> source = loader.places().data;
  loader.Rest();
  ONWARD_ASSIGN_OR_RETURN(batches.largest, LargestBatch(*source, data, batches.first));
  for (const auto& [name, tensor] : batches.largest) {
    if (!data.pad().contains(name)) continue;
    for (const int64_t dim : tensor.dims().subspan(1))
      batches.other_dims =
          std::max(batches.other_dims, std::min<int64_t>(dim, SessionOptions().max_bindings) - 1);
  }
  batches.other_dims = std::clamp<int64_t>(count - 1, 0, batches.other_dims);
  batches.bytes = BatchBytes(batches.largest);
  // Examples of data that is in memory are views of it.
  const std::shared_ptr<MemoryLimit>& memory = MemoryLimit::Current();
  const int64_t before = memory->used(), rows = batches.first.begin()->second.dims()[0];
  if (const auto example = source->Read(0, 0); !example.ok() || memory->used() > before)
    batches.examples = std::max(batches.bytes, rows * (memory->used() - before));
  return batches;
}

// Memory of the batches that a loader reads ahead and, where it is in use, of the one in hand.
int64_t BytesOf(const Loader& loader, const Batches& batches, bool in_use) {
  return (loader.read_ahead() + (in_use ? 1 : 0)) * batches.bytes +
         (in_use ? loader.made_at_a_time() * batches.examples : 0);
}

}  // namespace

// The fewest recomputed segments that keep to the memory budget.
absl::Status Trainer::FitSession() {
  ONWARD_ASSIGN_OR_RETURN(const int64_t budget, ParseBytes("recompute.memory_budget",
                                                           config_.recompute().memory_budget()));
  ONWARD_ASSIGN_OR_RETURN(phases_, MakeTrainingPhases(trained_, config_, fields_));
  std::vector<Model> models = std::exchange(phases_.models, {});
  if (!config_.has_evaluation()) models.resize(phases_.evaluate);
  const bool named = config_.recompute().segment_size() > 0;
  int64_t least = 0;
  for (const int segments : kSegments) {
    segments_ = segments;
    session_.reset();
    memory_->ResetPeak();
    ONWARD_RETURN_IF_ERROR(MakeSession(budget == 0 ? std::move(models) : models));
    ONWARD_RETURN_IF_ERROR(PlanMemory(budget));
    if (budget == 0 || planned_.total() <= budget) {
      models.clear();
      if (planned_.sized_at_run == 0) planned_.held = memory_->used();
      return CheckLimit();
    }
    if (segments == 0 || planned_.total() < least) least = planned_.total();
    if (named) break;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "recompute.memory_budget: the training needs ", least, " bytes at least, with ",
      named ? "the segments that the config names" : "every part of the forward pass",
      " computed again; the budget is ", BytesText(budget), " (a smaller batch_size needs less)"));
}

// What a phase needs, added to the plan.
absl::Status Trainer::PlanPhase(size_t phase, const DataConfig& data, const Batch& largest,
                                int64_t other_dims, PlannedMemory* sum) {
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session_->inputs(phase), largest, data));
  const int64_t before = memory_->used();
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory needs, session_->PlanMemory(given, phase));
  planned_.plans += other_dims * (memory_->used() - before);
  planned_.arena = std::max(planned_.arena, needs.arena);
  sum->outputs += needs.outputs;
  sum->updates += needs.updates;
  sum->copied_updates += needs.copied_updates;
  sum->sized_at_run += needs.sized_at_run;
  return absl::OkStatus();
}

// Runs a phase where its plan does not have all, and adds what it took besides.
absl::Status Trainer::MeasurePhase(size_t phase, const DataConfig& data, const Batch& batch) {
  ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                          InputsOf(session_->inputs(phase), batch, data));
  ONWARD_ASSIGN_OR_RETURN(const PlannedMemory needs, session_->PlanMemory(given, phase));
  if (needs.sized_at_run == 0) return absl::OkStatus();
  const absl::StatusOr<int64_t> taken = session_->MeasureMemory(given, phase);
  if (absl::IsResourceExhausted(taken.status())) return taken.status();
  if (!taken.ok()) return absl::OkStatus();  // the first step says what is wrong
  planned_.measured +=
      std::max<int64_t>(0, *taken - needs.outputs - needs.updates - needs.copied_updates);
  return absl::OkStatus();
}

absl::Status Trainer::PlanMemory(int64_t budget) {
  planned_ = TrainingMemory();
  ONWARD_ASSIGN_OR_RETURN(const Batches batches, ReadBatches(*loader_, config_.data(),
                                                             TotalSteps() * config_.accumulate()));
  PlannedMemory step, evaluation;
  ONWARD_RETURN_IF_ERROR(PlanPhase(0, config_.data(), batches.largest, batches.other_dims, &step));
  if (phases_.apply)
    ONWARD_RETURN_IF_ERROR(PlanPhase(*phases_.apply, config_.data(), batches.largest, 0, &step));
  Batches evaluated;
  const size_t evaluate = phases_.evaluate_average.value_or(phases_.evaluate);
  const DataConfig& evaluation_data = config_.evaluation().data();
  if (evaluation_loader_ != nullptr) {
    absl::StatusOr<Batches> read =
        ReadBatches(*evaluation_loader_, evaluation_data, evaluation_loader_->batches_per_epoch());
    if (!read.ok()) return Annotate(read.status(), "evaluation.data:");
    evaluated = *std::move(read);
    ONWARD_RETURN_IF_ERROR(
        Annotate(InputsOf(session_->inputs(evaluate), evaluated.first, evaluation_data).status(),
                 "evaluation:"));
    ONWARD_RETURN_IF_ERROR(Annotate(
        PlanPhase(evaluate, evaluation_data, evaluated.largest, evaluated.other_dims, &evaluation),
        "evaluation.data:"));
    planned_.batches =
        BytesOf(*loader_, batches, false) + BytesOf(*evaluation_loader_, evaluated, true);
  }
  planned_.batches = std::max(planned_.batches, BytesOf(*loader_, batches, true));
  planned_.outputs = step.outputs + evaluation.outputs;
  planned_.copies = step.copied_updates + (SkipsSteps() ? step.updates : 0);
  planned_.sized_at_run = step.sized_at_run + evaluation.sized_at_run;
  for (const std::string& name : session_->state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor state, session_->State(name));
    planned_.state += state.byte_size();
    // The best weights are kept where no checkpoint has them.
    const bool is_weight = trained_.model.graph.is_constant(trained_.model.graph.FindValue(name)) ||
                           name.starts_with(kAveragePrefix);
    if (is_weight && ExportsBest() && options_.checkpoint_directory.empty())
      planned_.copies += state.byte_size();
  }
  planned_.held = memory_->used();
  planned_.creation = memory_->peak();
  const int64_t most = budget > 0 ? std::min(budget, memory_->limit()) : memory_->limit();
  if (planned_.sized_at_run > 0 && planned_.total() <= most) {
    ONWARD_RETURN_IF_ERROR(arena_->Reserve(planned_.arena).status());
    ONWARD_RETURN_IF_ERROR(MeasurePhase(0, config_.data(), batches.first));
    if (evaluation_loader_ != nullptr)
      ONWARD_RETURN_IF_ERROR(MeasurePhase(evaluate, evaluation_data, evaluated.first));
  }
  // A step that runs while a checkpoint is written leaves the state that is written as it is.
  waits_for_checkpoints_ = false;
  if (SavesBeforeTheEnd() && !SkipsSteps()) {
    waits_for_checkpoints_ = planned_.total() + planned_.state > most;
    if (!waits_for_checkpoints_) planned_.copies += planned_.state;
  }
  return absl::OkStatus();
}

bool Trainer::SavesBeforeTheEnd() const {
  if (options_.checkpoint_directory.empty()) return false;
  const CheckpointConfig& checkpoint = config_.checkpoint();
  return TotalSteps() >
         (checkpoint.has_every_steps() ? checkpoint.every_steps() : steps_per_epoch());
}

absl::Status Trainer::CheckLimit() const {
  if (planned_.total() <= memory_->limit()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("max_memory: the training needs ", BytesText(planned_.total()), " at its peak, ",
                   BytesText(planned_.held), " of them weights, state and data; the limit is ",
                   BytesText(memory_->limit()),
                   " (a smaller batch_size and recompute.memory_budget need less)"));
}

}  // namespace onward
