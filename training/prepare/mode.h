// Training and evaluation, PyTorch's train() and eval(), as rewrites of any model, imported or
// built: Dropout and BatchNormalization in their training or in their inference form.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::training {

struct TrainingModeOptions {
  // Nodes that stay as they are: patterns (graph/base/name_pattern.h) of a node's name or of the
  // names of the constants that it reads or of the values that it makes ("layer1.*").
  std::vector<std::string> frozen;
  // The running variance takes the batch's variance divided by n - 1, as PyTorch does; the
  // standard's divides by n.
  bool unbiased_variance = true;
  // Updates of BatchNormalizations' running statistics are the batch's own, as the mean over the
  // uses of a module, in place of a step towards them.
  bool batch_statistics = false;
};

struct ModeChange {
  int dropouts = 0;
  int batch_normalizations = 0;  // and InstanceNormalizations with running statistics
  int spectral_norms = 0;
  std::vector<std::string> left;  // what cannot be changed: the node and the reason
};

// Dropouts draw a mask in each run, from the session's seed (their own `seed` goes).
// BatchNormalizations take the statistics of the batch; their running statistics become inputs with
// a default, which each run updates (Model::updates). One module used twice has one state, which
// its uses update one after the other. Spectral norms make their power iterations. What trains
// already stays as it is.
absl::StatusOr<ModeChange> SetTrainingMode(Model& model, const TrainingModeOptions& options = {});

// Dropouts go. BatchNormalizations take their running statistics, which become constants with the
// value that they have as inputs; their updates go. Ids of values change.
absl::StatusOr<ModeChange> SetInferenceMode(Model& model);

}  // namespace onward::training
