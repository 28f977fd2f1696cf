// Percentiles of run times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace onward::cli {

struct Latency {
  double min = 0, median = 0, p90 = 0, p99 = 0;  // milliseconds
  int runs = 0;

  nlohmann::json json() const;
  std::string text() const;
};

Latency LatencyOf(std::vector<double> milliseconds);

}  // namespace onward::cli
