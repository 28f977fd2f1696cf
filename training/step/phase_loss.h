// The loss of a training phase, of an output of the model and fields of the data. Included by the
// phases (training/step/phases.cc, evaluation_phases.cc) alone.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dataset.h"
#include "onward/expr.h"
#include "onward/train_config.pb.h"
#include "training/step/phase_update.h"

namespace onward::training {

// The names of the outputs that the losses are of, or are: the config's `loss` first.
// InvalidArgument: the model has no such output, or several and the config names none.
absl::StatusOr<std::vector<std::string>> ScoredOutputs(const Graph& graph,
                                                       const TrainConfig& config);

struct Scored {
  Expr loss;    // what is differentiated
  Expr scores;  // what the first loss is of
  Expr count;   // of a loss in parts, see LossParts
};

// The form in which the loss of a batch is made.
struct LossForm {
  bool parts = false;       // the sum over targets, with their count as output kLossCount
  bool all_reduce = false;  // over the rows of all ranks
};

// Adds the sum of the losses of the outputs `scored` as an output; no count where the config sums.
// Fields of the data that they read become inputs: the field's type with a batch before it.
absl::StatusOr<Scored> AddLoss(GraphSink& sink, const TrainConfig& config,
                               const std::vector<std::string>& scored,
                               absl::Span<const Field> fields, const LossForm& form, PhaseIds& ids);

}  // namespace onward::training
