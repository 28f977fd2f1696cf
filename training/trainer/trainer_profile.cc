// The trace of a training's first batches: of the graph that makes the step, and of the one that
// updates the weights where gradients are added up over several batches.
#include <iterator>
#include <utility>

#include "training/trainer/training_loop.h"

namespace onward::training {

std::vector<NodeExplanation> TrainingLoop::ExplainStep() const {
  std::vector<NodeExplanation> nodes = session_->session().Explain();
  if (!phases_.apply) return nodes;
  const std::vector<NodeExplanation> update = session_->session(*phases_.apply).Explain();
  nodes.insert(nodes.end(), update.begin(), update.end());
  return nodes;
}

std::optional<MemoryPeak> TrainingLoop::RecordedPeak() const {
  std::optional<MemoryPeak> peak = session_->session().RecordedPeak();
  if (!phases_.apply) return peak;
  const auto update = session_->session(*phases_.apply).RecordedPeak();
  return !peak || (update && update->bytes > peak->bytes) ? update : peak;
}

std::vector<TraceEvent> TrainingLoop::RecordedSteps() const {
  std::vector<TraceEvent> steps = session_->session().RecordedSteps();
  if (!phases_.apply) return steps;
  std::vector<TraceEvent> update = session_->session(*phases_.apply).RecordedSteps();
  std::move(update.begin(), update.end(), std::back_inserter(steps));
  return steps;
}

absl::Status TrainingLoop::WriteProfile(const std::string& path) const {
  const Session& batches = session_->session();
  if (!phases_.apply) return batches.WriteProfile(path);
  Trace both;
  for (TraceEvent& step : RecordedSteps()) both.Add(std::move(step));
  return both.Peak() ? both.WriteChromeTrace(path) : batches.WriteProfile(path);
}

}  // namespace onward::training
