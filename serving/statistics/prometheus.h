// Numbers in the text format 0.0.4 that Prometheus reads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serving/statistics/model_statistics.h"

namespace onward::serving {

inline constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";

struct MeasuredModel {
  std::string name, version;
  std::shared_ptr<const ModelStatistics> statistics;
};

// The counters of models by Triton's names, histograms of durations as onward_*_seconds, and what
// the process takes.
std::string PrometheusText(const std::vector<MeasuredModel>& models);

// As the value of a label: backslash, quote and line feed are escaped.
std::string EscapedLabel(std::string_view value);

}  // namespace onward::serving
