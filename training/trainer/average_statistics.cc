#include "training/trainer/average_statistics.h"

#include <optional>
#include <utility>

#include "graph/passes/pass.h"
#include "graph/rewrite/state.h"
#include "onward/status.h"
#include "training/data/loader.h"
#include "training/step/evaluation_phases.h"
#include "training/step/running_statistics.h"
#include "training/trainer/evaluation.h"
#include "training/trainer/phase_sessions.h"

namespace onward::training {

absl::StatusOr<std::map<std::string, Tensor>> StatisticsOverEpoch(
    const TrainConfig& config, const std::shared_ptr<const Dataset>& data,
    const std::vector<ValueInfo>& inputs, const std::vector<std::string>& names,
    const RunStatistics& run) {
  ONWARD_ASSIGN_OR_RETURN(LoaderOptions options, OptionsOf(config.data(), *data, true));
  options.batch_size = config.batch_size();
  options.seed = config.seed();
  ONWARD_ASSIGN_OR_RETURN(const auto loader, Loader::Create(data, options));
  StatisticsMean mean(names);
  TrainingSession::Outputs outputs;
  for (int64_t i = 0; i < loader->batches_per_epoch() && loader->position().epoch == 0; ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Batch batch, loader->Next());
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given, InputsOf(inputs, batch, config.data()));
    ONWARD_RETURN_IF_ERROR(NamePlace(run(given, outputs), batch, loader->places()));
    mean.Add(outputs);
  }
  return mean.Means();
}

absl::StatusOr<bool> HasStaleStatistics(const TrainConfig& config, const TrainingProgress& progress,
                                        const TrainableModel& model) {
  if (!config.has_average() || config.average().kind() != AverageConfig::UNIFORM ||
      progress.averaged == 0 || progress.statistics_of == progress.averaged)
    return false;
  int budget = PatchBudget(-1);
  ONWARD_ASSIGN_OR_RETURN(const std::optional<BatchStatistics> phase,
                          StatisticsPhase(model, config, {}, budget));
  return phase.has_value();
}

absl::Status RenewStatistics(const TrainConfig& config, const std::string& data_directory,
                             TrainableModel& model) {
  int budget = PatchBudget(-1);
  ONWARD_ASSIGN_OR_RETURN(std::optional<BatchStatistics> phase,
                          StatisticsPhase(model, config, {}, budget));
  if (!phase) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const auto session, TrainingSession::Create(std::move(phase->model),
                                                                      OptionsOfSessions(config)));
  ONWARD_ASSIGN_OR_RETURN(const auto data, OpenDataset(config.data(), data_directory));
  const auto run = [&](const Session::Inputs& inputs, TrainingSession::Outputs& outputs) {
    return session->Step(inputs, outputs);
  };
  ONWARD_ASSIGN_OR_RETURN(const auto statistics,
                          StatisticsOverEpoch(config, data, session->inputs(), phase->names, run));
  Graph& graph = model.model.graph;
  for (const auto& [name, value] : statistics) SetConstant(graph, graph.FindValue(name), value);
  return absl::OkStatus();
}

}  // namespace onward::training
