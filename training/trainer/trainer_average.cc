// The averages of a trainer's weights: when they count, what they evaluate and export.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/trainer/average_statistics.h"
#include "training/trainer/training_loop.h"

namespace onward::training {

void TrainingLoop::WarnOfLateAverage() const {
  if (!config_.has_average() || total_steps_ == 0 || config_.average().start() < total_steps_)
    return;
  Warn(absl::StrCat("average.start: ", config_.average().start(), ", the training ends after ",
                    total_steps_,
                    " steps: nothing is averaged, the weights themselves are evaluated and "
                    "exported"));
}

bool TrainingLoop::HasAverage() const {
  return phases_.evaluate_average.has_value() && progress_.averaged > 0;
}

absl::Status TrainingLoop::UpdateAverageStatistics() const {
  if (!phases_.statistics || !HasAverage() || statistics_of_ == progress_.averaged)
    return absl::OkStatus();
  const size_t phase = *phases_.statistics;
  session_->session(phase).set_run_index(0);
  ONWARD_ASSIGN_OR_RETURN(
      const auto statistics,
      StatisticsOverEpoch(config_, data_, session_->data_inputs(phase), phases_.statistic_names,
                          [&](const Session::Inputs& inputs, TrainingSession::Outputs& outputs) {
                            return session_->Step(inputs, outputs, phase);
                          }));
  for (const auto& [name, value] : statistics)
    ONWARD_RETURN_IF_ERROR(session_->Set(kAveragePrefix + name, value));
  statistics_of_ = progress_.averaged;
  return absl::OkStatus();
}

}  // namespace onward::training
