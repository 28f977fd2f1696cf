// The trace of a training's first batches: of the graph that makes the step, and of the one that
// updates the weights where gradients are added up over several batches.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/write_file.h"
#include "onward/status.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

absl::StatusOr<nlohmann::json> TraceOf(const Session& session, const std::string& path) {
  ONWARD_RETURN_IF_ERROR(session.WriteProfile(path));
  std::ifstream file(path);
  nlohmann::json trace = nlohmann::json::parse(file, nullptr, false);
  if (!trace.is_object())
    return absl::DataLossError(absl::StrCat("cannot read the profile '", path, "' again"));
  return trace;
}

}  // namespace

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

absl::Status TrainingLoop::WriteProfile(const std::string& path) const {
  const Session& batches = session_->session();
  if (!phases_.apply || !session_->session(*phases_.apply).RecordedPeak())
    return batches.WriteProfile(path);
  ONWARD_ASSIGN_OR_RETURN(nlohmann::json trace, TraceOf(batches, path));
  const auto update = TraceOf(session_->session(*phases_.apply), path);
  if (!update.ok()) return update.status();
  for (const auto& event : (*update)["traceEvents"]) trace["traceEvents"].push_back(event);
  if (const auto peak = RecordedPeak())
    trace["otherData"] = {{"peak_live_bytes", peak->bytes}, {"peak_at", peak->node}};
  return Annotate(files::WriteFile(path, trace.dump() + "\n"), "the profile:");
}

}  // namespace onward::training
