// The quality of a model on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/metric.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/data/loader.h"
#include "training/step/batch_inputs.h"
#include "training/step/training_session.h"

namespace onward::training {

// Runs a phase of evaluation on one batch.
using RunBatch =
    std::function<absl::Status(const Session::Inputs& inputs, TrainingSession::Outputs& outputs)>;

struct EvaluatedPhase {
  const std::vector<ValueInfo>& inputs;  // what a batch may feed
  const StepOutputs& outputs;
  RunBatch run;
};

// One epoch of the loader, from its first batch, with the metrics that `config` asks for; `own`
// makes those that it declares.
absl::StatusOr<Evaluation> Evaluate(Loader& loader, const EvaluationConfig& config,
                                    const LossConfig& loss, const EvaluatedPhase& phase,
                                    const std::map<std::string, MetricFactory>& own);

}  // namespace onward::training
