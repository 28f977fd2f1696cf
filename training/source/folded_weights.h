// Parameters of a PyTorch source that the exporter's optimizer computed with, or left out.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

struct FoldedWeight {
  std::string name;  // of the initializer
  std::string of;    // the parameters that it was computed from
};

struct FoldedWeights {
  // Initializers that are more than moved elements of parameters: sums, weight norm, exp(). A
  // training changes them in place of the parameters, or not at all.
  std::vector<FoldedWeight> computed;
  // Parameters that nodes of the source read and that the file has not: biases of zeros, those of a
  // BatchNormalization that is part of a convolution now.
  std::vector<std::string> left_out;
  // Parameters of which an optimized file has nothing: unused ones, those that are another one
  // under a second name, or whose values changed nothing (a temperature of 1).
  std::vector<std::string> absent;
};

// Finds them in a file of dynamo=True, and nothing in others. `initializers` are the model's.
FoldedWeights FindFoldedWeights(const Graph& graph, absl::Span<const std::string> initializers);

}  // namespace onward::training
