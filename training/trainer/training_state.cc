#include "training/trainer/training_state.h"

#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "onward/status.h"
#include "training/rewrite/names.h"

namespace onward::training {
namespace {

// Takes what a step of LBFGS keeps out of `tensors`: how much it is changes from step to step. What
// is `expected` is the session's.
TrainingStep::Tensors TakeStepState(const std::map<std::string, Tensor>& expected,
                                    std::map<std::string, Tensor>& tensors) {
  TrainingStep::Tensors state;
  for (auto it = tensors.begin(); it != tensors.end();) {
    const bool is_part = it->first.starts_with(kLbfgsPrefix) && expected.count(it->first) == 0;
    if (is_part) state[it->first.substr(std::strlen(kLbfgsPrefix))] = it->second;
    it = is_part ? tensors.erase(it) : std::next(it);
  }
  return state;
}

}  // namespace

absl::StatusOr<TrainingState> ReadState(const TrainingSession& session, const TrainingStep& step,
                                        const TrainingProgress& progress) {
  TrainingState state;
  state.step = progress.step;
  state.values = TextOf(progress);
  for (const std::string& name : session.state_names()) {
    ONWARD_ASSIGN_OR_RETURN(state.tensors[name], session.State(name));
  }
  for (const auto& [name, tensor] : step.State()) state.tensors[kLbfgsPrefix + name] = tensor;
  return state;
}

absl::StatusOr<TrainingProgress> RestoreState(TrainingState state, const std::string& path,
                                              TrainingSession& session, TrainingStep& step) {
  std::map<std::string, Tensor> expected;
  for (const std::string& name : session.state_names()) {
    ONWARD_ASSIGN_OR_RETURN(expected[name], session.State(name));
  }
  const TrainingStep::Tensors kept = TakeStepState(expected, state.tensors);
  ONWARD_RETURN_IF_ERROR(Annotate(CheckSameTensors(state, expected), path));
  ONWARD_ASSIGN_OR_RETURN(TrainingProgress progress, ProgressOf(state.values));
  ONWARD_RETURN_IF_ERROR(Annotate(step.SetState(kept), path));
  for (const auto& [name, tensor] : state.tensors)
    ONWARD_RETURN_IF_ERROR(session.Set(name, tensor.Clone()));
  return progress;
}

}  // namespace onward::training
