// Weights that an exporter wrote as one because their values were equal.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "onward/graph.h"
#include "training/source/separated_weight.h"

namespace onward::training {

// PyTorch's exporters write initializers of equal values once: the fresh biases of all layers are
// one tensor of zeros, the layers of a fresh nn.TransformerEncoder are one layer. A training would
// tie what the source has apart. This gives each module a weight of its own where names of nodes or
// their "pkg.torch.onnx.name_scopes" tell modules apart (calls of one module share, as in the
// source) and either all elements are equal or the modules' names differ in numbers alone; so an
// embedding that is also the output layer's weight stays one. Uses in different places of a
// normalization (scale and variance) are apart too. Left alone are weights of one element, those
// that bodies of If, Loop or Scan read, and those that match one of the patterns `shared`. Files of
// dynamo=True name the parameter that each node reads; there the choice is exact, for weights of
// one element too (training/source/operand_weights.h). `initializers` are the model's, and get the
// new names.
std::vector<SeparatedWeight> SeparateMergedWeights(Graph& graph,
                                                   std::vector<std::string>& initializers,
                                                   absl::Span<const std::string> shared);

}  // namespace onward::training
