// Power iterations of nn::SpectralNorm: the part of training/prepare/mode.h that is theirs.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::training {

// Each spectral norm for whose node `left_out` is false takes its vectors some iterations on, which
// become state that each run updates. Returns how many there are.
absl::StatusOr<int> TrainSpectralNorms(Model& model,
                                       const std::function<bool(const Node&)>& left_out);

// They take the vectors of the state again, which `states` gets. Returns how many there are.
int InferSpectralNorms(Graph& graph, std::vector<ValueId>& states);

}  // namespace onward::training
