// The table of metrics: their names, the losses that they fit, and how each is measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/metric.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"

namespace onward::training {

// OK where `name` is "loss", a metric that fits the loss, or one that the config declares (`own`).
// InvalidArgument says what is known, or which losses the metric needs.
absl::Status CheckMetric(std::string_view name, const EvaluationConfig& config,
                         const LossConfig& loss);

// The name of own metric `index` is one that nothing else has, and the loss has a target.
absl::Status CheckOwnMetric(const EvaluationConfig& config, int index, const LossConfig& loss);

// The program gives those metrics that the config declares; InvalidArgument names the first that is
// not so.
absl::Status CheckGivenMetrics(const EvaluationConfig& config,
                               const std::map<std::string, MetricFactory>& given);

// Returns whether a larger value of the metric that chooses the best is better; false for "loss".
bool LargestIsBest(const EvaluationConfig& config);

// Some metric that the config asks for looks at the scores; the others follow from an Evaluation
// (ValueOf).
bool LooksAtScores(const EvaluationConfig& config);

// Those that do, after CheckMetric; `own` has one for each that the config declares.
// InvalidArgument: it made none.
absl::StatusOr<std::map<std::string, std::unique_ptr<Metric>>> MakeMetrics(
    const EvaluationConfig& config, const LossConfig& loss,
    const std::map<std::string, MetricFactory>& own);

// A metric of an evaluation, "loss" and "accuracy" too; nullopt where it is undefined, or was not
// asked for.
std::optional<double> ValueOf(std::string_view metric, const Evaluation& evaluation);

// "f1 0.8125", "accuracy 93.40 %".
std::string MetricText(std::string_view metric, double value);

// The metrics that the config asks for, that which chooses the best first, those of its own last;
// without "loss".
std::vector<std::string> MetricNames(const EvaluationConfig& config);

}  // namespace onward::training
