// Conditions that a training puts into graphs: onward.RequireShape, onward.RequireRange, and one of
// normalizations.
#pragma once

#include <vector>

namespace onnx {
class OpSchema;
}

namespace onward {

// In the metadata of a BatchNormalization, InstanceNormalization or GroupNormalization that a
// training made train: statistics of one value are an error.
inline constexpr char kSeveralValuesKey[] = "onward.several_values";
// Its value at an InstanceNormalization that is written for a group normalization, whose examples
// count together.
inline constexpr char kSeveralValuesOfBatch[] = "batch";

std::vector<onnx::OpSchema> RequireSchemas();

}  // namespace onward
