#include "training/trainer/phase_sessions.h"

#include <memory>
#include <string>
#include <utility>

#include "onward/thread_pool.h"
#include "training/config/precision.h"
#include "training/rewrite/recompute.h"

namespace onward::training {

SessionOptions OptionsOfSessions(const TrainConfig& config, int threads) {
  SessionOptions options;
  options.provider = config.provider();
  options.pool = std::make_shared<ThreadPool>(config.threads() > 0 ? config.threads()
                                              : threads > 0        ? threads
                                                                   : PhysicalCores());
  options.seed = config.seed();
  options.deterministic = config.deterministic();
  options.precision = SessionPrecision(config);
  return options;
}

void WatchPhases(const TrainConfig& config, const TrainingPhases& phases, FiniteChecks& checks,
                 const std::function<const Graph&(size_t phase)>& graph_of,
                 std::vector<SessionOptions>& by_phase) {
  if (!config.log().detect_anomaly()) return;
  for (size_t i = 0; i < by_phase.size(); ++i) {
    by_phase[i].watch =
        checks.Watch(i >= phases.evaluate, [graph_of, i]() -> const Graph& { return graph_of(i); });
  }
}

std::vector<Pass> RecomputePasses(const TrainConfig& config, const Phase& step, int segments) {
  const std::vector<std::string> named(config.recompute().segment().begin(),
                                       config.recompute().segment().end());
  std::vector<Pass> passes;
  if (!named.empty() || segments > 1)
    passes.push_back(RecomputePass(*step.outputs.loss, named, segments));
  return passes;
}

}  // namespace onward::training
