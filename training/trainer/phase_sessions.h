// The sessions of a training's phases, as its config says, for the loop and for trainings step by
// step.
#pragma once

#include <functional>
#include <vector>

#include "graph/passes/pass.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "training/step/finite_checks.h"
#include "training/step/phases.h"

namespace onward::training {

// The options that the config gives all sessions; `threads`: the number where it gives none, 0: the
// physical cores.
SessionOptions OptionsOfSessions(const TrainConfig& config, int threads = 0);

// With log.detect_anomaly `checks` sees what all phases compute. `graph_of` returns the graph that
// a phase runs, once there is one; it and `checks` outlive the sessions.
void WatchPhases(const TrainConfig& config, const TrainingPhases& phases, FiniteChecks& checks,
                 const std::function<const Graph&(size_t phase)>& graph_of,
                 std::vector<SessionOptions>& by_phase);

// The forward pass of `step` in segments that are computed again: those that the config names, or
// else so many even ones. Empty: nothing is.
std::vector<Pass> RecomputePasses(const TrainConfig& config, const Phase& step, int segments);

}  // namespace onward::training
