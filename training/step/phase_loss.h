// The loss of a training phase, of an output of the model and fields of the data. Included by the
// phases (training/step/phases.cc, evaluation_phases.cc) alone.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dataset.h"
#include "onward/expr.h"
#include "onward/train_config.pb.h"
#include "training/step/phase_update.h"

namespace onward::training {

// The name of the output that the loss is of, or is. InvalidArgument: the model has no such output,
// or several and the config names none.
absl::StatusOr<std::string> ScoredOutput(const Graph& graph, const LossConfig& loss);

struct Scored {
  Expr loss, scores;  // `loss`: what is differentiated
  Expr count;         // of a loss in parts, see LossParts
};

// The form in which the loss of a batch is made.
struct LossForm {
  bool parts = false;       // the sum over targets, with their count as output kLossCount
  bool all_reduce = false;  // over the rows of all ranks
};

// Adds the loss of the output `scored` as an output; no count where the config sums. Fields of
// the data that it reads become inputs: the field's type with a batch before it.
absl::StatusOr<Scored> AddLoss(GraphSink& sink, const LossConfig& config, const std::string& scored,
                               absl::Span<const Field> fields, const LossForm& form, PhaseIds& ids);

}  // namespace onward::training
