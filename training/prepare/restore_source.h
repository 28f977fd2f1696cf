// Brings an imported graph back to what its PyTorch source has, as far as the file says.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"
#include "onward/log.h"

namespace onward::training {

struct RestoreOptions {
  std::vector<std::string> shared = {};  // see SeparateMergedWeights
  std::vector<std::string> untied = {};  // see TieTransposedWeights
  std::vector<std::string> kept = {};    // names that stay initializers; they need not exist
};

// Takes merged weights apart, ties those that were written twice, stops gradients where the source
// detaches. `initializers` are the model's weights and get the new names. `log`
// hears what was done, and what the file cannot say: weights that the exporter computed, parameters
// that it left out, places where a detach() may be lost. InvalidArgument: a pattern of `shared` or
// `untied` that names no initializer.
absl::Status RestoreSource(Graph& graph, std::vector<std::string>& initializers,
                           const RestoreOptions& options, const LogSink& log);

}  // namespace onward::training
