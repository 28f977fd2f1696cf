// Work of several ranks' trainers together, besides the all-reduce nodes of their steps.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "training/trainer/start_together.h"
#include "training/trainer/training_loop.h"

namespace onward::training {

int TrainingLoop::rank() const { return options_.communicator ? options_.communicator->rank() : 0; }
int TrainingLoop::ranks() const {
  return options_.communicator ? options_.communicator->size() : 1;
}

void TrainingLoop::SetActivity(const std::string& activity) const {
  if (options_.communicator != nullptr) options_.communicator->set_activity(activity);
}

absl::Status TrainingLoop::StartTogether() {
  if (ranks() == 1) return absl::OkStatus();
  const std::map<std::string, std::string> progress = TextOf(progress_);
  return onward::training::StartTogether(
      *options_.communicator, config_, phases_.evaluate,
      {{"the number of examples", absl::StrCat(data_->size())},
       {"the checkpoint that is resumed", absl::StrJoin(progress, "\n", absl::PairFormatter("="))}},
      *session_);
}

// A request to one rank ends all of them, after the same step. A rank that is gone shows in what
// comes next.
bool TrainingLoop::AnyRank(bool value) const {
  if (ranks() == 1) return value;
  const absl::StatusOr<std::vector<double>> all = AllGather(*options_.communicator, value ? 1 : 0);
  return all.ok() && std::any_of(all->begin(), all->end(), [](double each) { return each != 0; });
}

// Rank 0 evaluates, with what it computes with; the others wait, and are told what they need for
// schedules, patience and the best weights.
absl::StatusOr<Evaluation> TrainingLoop::EvaluateTogether() {
  if (ranks() == 1) return EvaluateAlone();
  SetActivity(absl::StrCat("the evaluation after step ", progress_.step));
  absl::StatusOr<Evaluation> evaluation = Evaluation();
  if (rank() == 0) evaluation = EvaluateAlone();
  constexpr double kFailed = 0, kInterrupted = 1, kDone = 2;
  const bool ended = absl::IsCancelled(evaluation.status());
  const double outcome = evaluation.ok() ? kDone : ended ? kInterrupted : kFailed;
  Tensor told = Tensor::Of<double>({5}, {outcome, 0, 0, 0, 0});
  double* numbers = told.mutable_data<double>();
  if (evaluation.ok()) {
    numbers[1] = evaluation->loss;
    numbers[2] = static_cast<double>(evaluation->examples);
    numbers[3] = static_cast<double>(evaluation->targets);
    numbers[4] = static_cast<double>(evaluation->right);
  }
  ONWARD_RETURN_IF_ERROR(options_.communicator->Broadcast(told.view(), 0));
  interrupted_ |= numbers[0] == kInterrupted;
  if (rank() == 0) return evaluation;
  if (numbers[0] == kInterrupted) return absl::CancelledError("interrupted");
  if (numbers[0] == kFailed) return absl::UnavailableError("rank 0 could not evaluate");
  evaluation->loss = numbers[1];
  evaluation->examples = static_cast<int64_t>(numbers[2]);
  evaluation->targets = static_cast<int64_t>(numbers[3]);
  evaluation->right = static_cast<int64_t>(numbers[4]);
  return evaluation;
}

}  // namespace onward::training
