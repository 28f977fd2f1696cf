// The table of metrics: their names, the losses that they fit, and how each is measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/metrics/metric.h"

namespace onward::training {

// OK where `name` is "loss" or a metric that fits the loss. InvalidArgument says what is known, or
// which losses the metric needs.
absl::Status CheckMetric(std::string_view name, const LossConfig& loss);

// Returns whether a larger value is a better one; false for "loss".
bool LargestIsBest(std::string_view metric);

// The metrics of `names`, of those that CheckMetric lets pass, which look at the scores; the others
// follow from an Evaluation (ValueOf).
std::map<std::string, std::unique_ptr<Metric>> MakeMetrics(const std::vector<std::string>& names,
                                                           const LossConfig& loss);

// A metric of an evaluation, "loss" and "accuracy" too; nullopt where it is undefined, or was not
// asked for.
std::optional<double> ValueOf(std::string_view metric, const Evaluation& evaluation);

// "f1 0.8125", "accuracy 93.40 %".
std::string MetricText(std::string_view metric, double value);

// The metrics that the config asks for, that which chooses the best first; without "loss".
std::vector<std::string> MetricNames(const EvaluationConfig& config);

}  // namespace onward::training
