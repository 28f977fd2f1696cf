// The progress of a training: with the session's state all that a checkpoint needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "training/schedules/plateau.h"

namespace onward::training {

struct TrainingProgress {
  int64_t step = 0;              // steps that are done
  int64_t epoch = 0, batch = 0;  // of the batch that comes next
  int64_t skipped = 0;           // steps whose loss was not finite
  int64_t averaged = 0;          // steps whose weights are in the average
  int64_t without_progress = 0;  // evaluations since the best one
  std::optional<double> best;    // metric
  std::optional<int64_t> best_step;
  // 1: the evaluation after `step` is still to be made, as the training was interrupted.
  std::optional<int64_t> evaluation_due;
  std::map<int64_t, PlateauState> plateaus;  // by group of parameters
  // `averaged` when the running statistics of a uniform average were computed.
  std::optional<int64_t> statistics_of;
  double loss_scale = 1;
  int64_t scale_steps = 0;  // finite steps since the scale changed
};

// To and from text, every bit kept. DataLoss: a value is missing or no number.
std::map<std::string, std::string> TextOf(const TrainingProgress& progress);
absl::StatusOr<TrainingProgress> ProgressOf(const std::map<std::string, std::string>& values);

}  // namespace onward::training
