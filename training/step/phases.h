// A model as the graphs that train it, which share their state in a TrainingSession.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onward/train_config.pb.h"
#include "training/optimizers/optimizer.h"
#include "training/prepare/trainable.h"
#include "training/rewrite/names.h"
#include "training/step/phase.h"

namespace onward::training {

// LBFGS evaluates the loss as often as it likes: its step is not a graph. A phase then computes
// loss and gradients at the state's parameters, which it leaves as they are.
bool IsLbfgs(const TrainConfig& config);

// The names of what they have besides the model: training/rewrite/names.h.
struct TrainingPhases {
  // [0] computes loss and gradients, and makes the step unless `apply` does; the others follow,
  // those that evaluate last.
  std::vector<Phase> graphs;
  std::optional<size_t> apply;             // adds nothing up any more: updates the weights
  size_t evaluate = 0;                     // loss and prediction of the weights in inference form
  std::optional<size_t> evaluate_average;  // the same of the averaged weights
  // Statistics of a batch with the averaged weights (training/step/running_statistics.h): of
  // uniform averages, where the model has BatchNormalizations that train.
  std::optional<size_t> statistics;
  std::vector<std::string> statistic_names;  // of the running ones, one an output of `statistics`
  std::vector<GroupSettings> groups;         // in the order of the config's, the default one last
  std::vector<int> empty_groups;             // of the config's: no trained parameter is in them
  std::vector<std::string> parameters;       // those that are trained
  std::vector<WeightChoice> choices;         // of all float initializers, with the reasons
  std::vector<std::string> buffers;          // running statistics and what else a run of it updates
  int patches_left = -1;  // of PhaseOptions::stop_after_patches, for the sessions

  // The state that is the model's own: parameters and buffers.
  std::vector<std::string> weights() const;
};

}  // namespace onward::training
