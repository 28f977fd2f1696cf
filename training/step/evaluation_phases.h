// The phases of a training that leave its weights as they are: evaluations, and statistics of
// averaged weights.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dataset.h"
#include "training/prepare/trainable_model.h"
#include "training/step/phase_update.h"
#include "training/step/phases.h"

namespace onward::training {

// To what `precision` asks for, before the loss is added: that one is float32. `budget` as a
// pass's.
absl::Status ApplyPrecision(Model& model, const PrecisionConfig& precision, int& budget);

// The model with these outputs and the updates alone, and what they need.
absl::StatusOr<Phase> FinishPhase(Model model, const PhaseIds& ids);

// Evaluates with the weights that are state elsewhere, or with their averages.
absl::StatusOr<Phase> EvaluatePhase(const TrainableModel& trained, const TrainConfig& config,
                                    absl::Span<const Field> fields,
                                    const std::vector<std::string>& state,
                                    const std::vector<std::string>& averaged, int& budget);

// TrainingPhases::statistics, whose `averaged` constants are state by the names of their averages;
// nothing where the model has no statistics. `budget` as a pass's.
struct BatchStatistics {
  Model model;
  std::vector<std::string> names;  // of the running statistics, one an output
};
absl::StatusOr<std::optional<BatchStatistics>> StatisticsPhase(
    const TrainableModel& trained, const TrainConfig& config,
    const std::vector<std::string>& averaged, int& budget);

}  // namespace onward::training
