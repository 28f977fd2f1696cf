// Conditions that a training puts into graphs: onward.RequireShape, onward.RequireRange, and one of
// normalizations.
#pragma once

namespace onward {

// In the metadata of a BatchNormalization, InstanceNormalization or GroupNormalization that a
// training made train: statistics of one value are an error.
inline constexpr char kSeveralValuesKey[] = "onward.several_values";
// Its value at an InstanceNormalization that is written for a group normalization, whose examples
// count together.
inline constexpr char kSeveralValuesOfBatch[] = "batch";

}  // namespace onward
