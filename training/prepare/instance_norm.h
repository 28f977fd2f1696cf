// Normalisations of each example by itself that keep running statistics (nn::InstanceNorm): the
// part of training/prepare/mode.h that is theirs.
#pragma once

#include "onward/expr.h"
#include "onward/graph.h"

namespace onward::training {

// Returns whether the node is such a normalization in its training form.
bool IsTrainingInstanceNorm(const Node& node);

// The replacement of the BatchNormalization `id`, in training: the normalised examples, and what
// the batch adds to the running mean and variance (unbiased, means over the examples).
struct TrainedInstanceNorm {
  Expr y, mean_part, variance_part;
};
TrainedInstanceNorm TrainInstanceNorm(GraphSink& sink, NodeId id);

// Notes in the training form `y` which states it has, so that InferInstanceNorm finds them.
void NoteInstanceNormStates(Graph& graph, const Expr& y, ValueId mean, ValueId variance,
                            double momentum);

// The BatchNormalization of the running statistics that takes the place of the training form `id`.
// Not valid when a state is gone.
struct InferredInstanceNorm {
  Expr y;
  ValueId mean, variance;
};
InferredInstanceNorm InferInstanceNorm(GraphSink& sink, NodeId id);

}  // namespace onward::training
