#include "cli/latency.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace onward::cli {

Latency LatencyOf(std::vector<double> milliseconds) {
  Latency latency;
  if (milliseconds.empty()) return latency;
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double quantile) {
    return milliseconds[static_cast<size_t>(
        quantile * static_cast<double>(milliseconds.size() - 1) + 0.5)];
  };
  latency.min = milliseconds.front();
  latency.median = at(0.5);
  latency.p90 = at(0.9);
  latency.p99 = at(0.99);
  latency.runs = static_cast<int>(milliseconds.size());
  return latency;
}

nlohmann::json Latency::json() const {
  return {{"min", min}, {"median", median}, {"p90", p90}, {"p99", p99}};
}

std::string Latency::text() const {
  return absl::StrFormat("latency ms: min %.4g  median %.4g  p90 %.4g  p99 %.4g  (%d runs)", min,
                         median, p90, p99, runs);
}

}  // namespace onward::cli
