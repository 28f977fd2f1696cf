// Conditions that a training puts into graphs: onward.RequireShape, onward.RequireRange, and one of
// BatchNormalizations.
#pragma once

#include <vector>

namespace onnx {
class OpSchema;
}

namespace onward {

// In the metadata of a BatchNormalization that a training made train: a batch with one value for
// each channel is an error.
inline constexpr char kSeveralValuesKey[] = "onward.several_values";

std::vector<onnx::OpSchema> RequireSchemas();

}  // namespace onward
