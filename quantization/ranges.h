// Which part of what a value takes is worth the codes of 8 bits.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session_options.h"
#include "quantization/calibration_set.h"
#include "quantization/observe.h"

namespace onward::quantization {

enum class RangeMethod {
  kMinMax,      // all of it
  kPercentile,  // but equal shares at both ends
  kEntropy,     // the least Kullback-Leibler divergence of the codes' distribution from the values'
  kMse,         // the least square error
};

struct RangeOptions {
  RangeMethod method = RangeMethod::kMinMax;
  double percentile = 99.99;
};

// Counts of a value's elements in equal bins.
struct Histogram {
  double low = 0, high = 0;
  std::vector<int64_t> counts;
};

// A part of [low, high] that includes zero.
ValueRange ChooseRange(const Histogram& histogram, const RangeOptions& options);

// The ranges of the values of these names, as far as the samples reach them; two runs of every
// sample but for kMinMax. InvalidArgument: a value is infinite or no number, or as ObserveSamples.
absl::StatusOr<std::map<std::string, ValueRange>> CalibrateRanges(
    const Model& model, const CalibrationSet& set, const std::set<std::string>& names,
    const RangeOptions& options, const SessionOptions& session);

}  // namespace onward::quantization
