// How good a model is on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "training/data/loader.h"
#include "training/step/batch_inputs.h"

namespace onward {

struct Evaluation {
  // The mean over the targets of all examples, as of one batch; over the examples of losses that
  // are summed or that the model computes.
  double loss = 0;
  int64_t examples = 0;
  // Where targets are classes; what ignore_index names counts for nothing.
  int64_t targets = 0;
  int64_t right = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> confusion;  // (target, prediction) -> how often
  // Where the loss is not finite and the data are the reason: the place of the first such element.
  std::string not_finite;

  std::optional<double> accuracy() const {
    if (targets == 0) return std::nullopt;
    return static_cast<double>(right) / static_cast<double>(targets);
  }
};

// Runs the phase `evaluate` of MakeTrainingPhases on one batch.
using RunBatch = std::function<absl::StatusOr<Session::Outputs>(const Session::Inputs& inputs)>;

// One epoch of the loader, from its first batch.
absl::StatusOr<Evaluation> Evaluate(Loader& loader, const DataConfig& data, const LossConfig& loss,
                                    const std::vector<ValueInfo>& inputs, const RunBatch& run);

}  // namespace onward
