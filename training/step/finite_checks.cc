#include "training/step/finite_checks.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/step/anomaly.h"

namespace onward::training {

absl::Status FiniteChecks::CheckState(const TrainingSession& session) const {
  if (!config_.log().detect_anomaly()) return absl::OkStatus();
  for (const std::string& name : session.state_names()) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor state, session.State(name));
    const absl::Status finite = RefuseNonFinite(name, state.view());
    if (!finite.ok()) return Annotate(finite, "before the first step:");
  }
  return absl::OkStatus();
}

absl::Status FiniteChecks::CheckData(const Batch& batch, const BatchPlaces& places) const {
  if (!config_.log().detect_anomaly()) return absl::OkStatus();
  const std::string where = NonFinitePlace(batch, places);
  if (where.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("log.detect_anomaly: step ", progress_.step + 1,
                                                    ": the data are not finite already: ", where));
}

std::function<absl::Status(std::string_view, const TensorView&)> FiniteChecks::Watch(
    bool evaluates, std::function<const Graph&()> graph) {
  if (evaluates || !scaler_.scales()) return RefuseNonFinite;
  return [this, graph = std::move(graph)](std::string_view name, const TensorView& value) {
    if (!anomaly_.empty()) return absl::OkStatus();
    const absl::Status status = RefuseNonFinite(name, value);
    if (status.ok()) return status;
    const Graph& ran = graph();
    const ValueId id = ran.FindValue(std::string(name));
    if (id.valid() && ran.value(id).producer.valid())
      anomaly_ = absl::StrCat(ran.Describe(ran.value(id).producer), " ");
    absl::StrAppend(&anomaly_, std::string(status.message()));
    return absl::OkStatus();
  };
}

absl::Status FiniteChecks::Judge(bool skipped) {
  const std::string anomaly = std::exchange(anomaly_, {});
  if (anomaly.empty() || (skipped && scaler_.Handles())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("step ", progress_.step + 1, ", loss scale ", scaler_.scale(), ": ", anomaly));
}

void FiniteChecks::NoteData(double loss, const Batch& batch, const BatchPlaces& places) {
  if (bad_data_.empty() && !std::isfinite(loss)) bad_data_ = NonFinitePlace(batch, places);
}

absl::Status FiniteChecks::NonFiniteLoss(double loss) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "the loss of step ", progress_.step + 1, " is ", loss,
      bad_data_.empty() ? " (log.detect_anomaly names the first value that is not finite)"
                        : absl::StrCat(": the data are not finite, ", bad_data_),
      "; checkpoints are of steps before it (non_finite: SKIP leaves such steps out)"));
}

void FiniteChecks::EndStep(bool skipped) {
  const std::string where = std::exchange(bad_data_, {});
  // The data are not finite in every epoch.
  if (!skipped || where.empty() || std::exchange(warned_, true)) return;
  Warn(log_, "training",
       absl::StrCat("step ", progress_.step + 1, " is skipped: the data are not finite, ", where));
}

}  // namespace onward::training
