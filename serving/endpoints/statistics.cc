// Counts and times of requests, by model and version, as JSON and for Prometheus.
#include <nlohmann/json.hpp>
#include <utility>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/statistics/model_statistics.h"
#include "serving/statistics/prometheus.h"

namespace onward::serving {
namespace {

using nlohmann::json;

json DurationJson(const DurationSum& sum) { return {{"count", sum.count}, {"ns", sum.ns}}; }

json StatisticsJson(const ServedModel& model) {
  const StatisticsSnapshot numbers = model.statistics().Read();
  json batches = json::array();
  for (const auto& [rows, batch] : numbers.batches) {
    batches.push_back({{"batch_size", rows},
                       {"compute_input", DurationJson(batch.compute_input)},
                       {"compute_infer", DurationJson(batch.compute_infer)},
                       {"compute_output", DurationJson(batch.compute_output)}});
  }
  const BatchDurations& compute = numbers.compute;
  return {{"name", model.name()},
          {"version", model.version()},
          {"last_inference", numbers.last_inference},
          {"inference_count", numbers.inference_count},
          {"execution_count", numbers.execution_count},
          {"inference_stats",
           {{"success", DurationJson(numbers.success)},
            {"fail", DurationJson(numbers.fail)},
            {"queue", DurationJson(numbers.queue)},
            {"compute_input", DurationJson(compute.compute_input)},
            {"compute_infer", DurationJson(compute.compute_infer)},
            {"compute_output", DurationJson(compute.compute_output)},
            {"cache_hit", DurationJson({})},
            {"cache_miss", DurationJson({})}}},
          {"response_stats", json::object()},
          {"batch_stats", std::move(batches)},
          {"memory_usage", json::array()}};
}

}  // namespace

void AllStatistics(ServerState& state, Call call) {
  json list = json::array();
  for (const auto& model : state.models.Ready()) list.push_back(StatisticsJson(*model));
  call.respond(JsonReply({{"model_stats", std::move(list)}}));
}

// Without a version: those of all that are ready.
void Statistics(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  json list = json::array();
  if (call.names.size() > 1) {
    list.push_back(StatisticsJson(**model));
  } else {
    for (const auto& each : state.models.Ready())
      if (each->name() == (*model)->name()) list.push_back(StatisticsJson(*each));
  }
  call.respond(JsonReply({{"model_stats", std::move(list)}}));
}

void Metrics(ServerState& state, Call call) {
  call.respond({.body = PrometheusText(state.models.Measured()), .content_type = kPrometheusType});
}

}  // namespace onward::serving
