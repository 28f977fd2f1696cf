// The inputs that the weights of a model's products meet on samples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session_options.h"
#include "quantization/calibration_set.h"

namespace onward::quantization {

// X^T X over the rows of a matrix X, or of several.
struct InputProducts {
  int64_t size = 0, rows = 0;
  std::vector<float> sums;  // size x size
};

// For the values of these names, whose last dims have these sizes. The samples run as often as the
// sums need to stay within `most_bytes` at a time, at least one value a run. Errors as of
// ObserveSamples.
absl::StatusOr<std::map<std::string, InputProducts>> ObserveInputProducts(
    const Model& model, const CalibrationSet& set, const std::map<std::string, int64_t>& values,
    const SessionOptions& session, int64_t most_bytes = int64_t{2} << 30);

}  // namespace onward::quantization
