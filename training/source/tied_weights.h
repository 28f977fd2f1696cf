// Output layers that an exporter untied from the embedding that is their weight.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

struct TiedWeight {
  std::string name;       // was an initializer
  std::string embedding;  // of which it is made now
};

// PyTorch's exporters fold the transpose of an output layer's weight, so that a weight which is
// also an embedding's becomes two initializers, which a training would take apart. A matrix that
// only MatMul multiplies by and that is bit for bit the transpose of one whose rows Gather takes,
// becomes its Transpose again, but for those that match one of the patterns `untied` and for
// matrices whose elements are all equal. `initializers` lose its name.
//
// A file of dynamo=True says what a folded initializer was made of. There any that holds the
// elements of a parameter of the file, moved, becomes a Transpose or Reshape of it again (behind a
// StopGradient where the source detaches it), and what is made of another parameter is not tied.
absl::StatusOr<std::vector<TiedWeight>> TieTransposedWeights(Graph& graph,
                                                             std::vector<std::string>& initializers,
                                                             absl::Span<const std::string> untied);

}  // namespace onward::training
