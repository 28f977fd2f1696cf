// Observes the values between a model's inputs and outputs, on the samples of a calibration set.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session_options.h"
#include "onward/tensor.h"
#include "quantization/calibration_set.h"

namespace onward::quantization {

// Runs the model as it is written on every sample, on the CPU. `see` is told of every tensor that
// is fed or made, of bodies too, by its name. InvalidArgument names the sample that does not fit
// the model.
absl::Status ObserveSamples(
    const Model& model, const CalibrationSet& set, const SessionOptions& options,
    const std::function<absl::Status(std::string_view name, const TensorView& value)>& see);

struct ValueRange {
  float low = 0, high = 0;  // finite
  bool finite = true;       // whether every element was
};

// The least and the greatest element of each float32 value, zero included.
absl::StatusOr<std::map<std::string, ValueRange>> ObserveRanges(const Model& model,
                                                                const CalibrationSet& set,
                                                                const SessionOptions& options);

}  // namespace onward::quantization
