// Finds the source of values that are not finite, and decides which of them end a training.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "onward/kernel.h"
#include "onward/log.h"
#include "onward/train_config.pb.h"
#include "training/data/places.h"
#include "training/step/loss_scaler.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// Not thread-safe.
class FiniteChecks {
 public:
  // All outlive the checks.
  FiniteChecks(const TrainConfig& config, const TrainingProgress& progress,
               const LossScaler& scaler, const LogSink& log)
      : config_(config), progress_(progress), scaler_(scaler), log_(log) {}

  // --- with log.detect_anomaly
  // What is not finite before the first step, and before the first node of a step.
  absl::Status CheckState(const TrainingSession& session) const;
  absl::Status CheckData(const Batch& batch, const BatchPlaces& places) const;
  // For SessionOptions::watch: names the first node whose output is not finite. Where the scaler
  // may skip the step, whether that is an error shows only at the step's end (`Judge`). `graph`
  // returns the graph that runs.
  std::function<absl::Status(std::string_view, const TensorView&)> Watch(
      bool evaluates, std::function<const Graph&()> graph);
  // At the end of a step: FailedPrecondition where `Watch` saw something that nothing handles.
  absl::Status Judge(bool skipped);

  // --- always
  // Remembers the place of the first element of a batch that is not finite, where its loss is not.
  void NoteData(double loss, const Batch& batch, const BatchPlaces& places);
  bool data_are_bad() const { return !bad_data_.empty(); }
  // FailedPrecondition: what is known of a loss that is not finite.
  absl::Status NonFiniteLoss(double loss) const;
  // At the end of a step. Warns once of data that made it skip.
  void EndStep(bool skipped);

 private:
  const TrainConfig& config_;
  const TrainingProgress& progress_;
  const LossScaler& scaler_;
  const LogSink& log_;
  std::string anomaly_;   // the first of the step that runs, where the loss is scaled
  std::string bad_data_;  // where the data of the step that runs are not finite; "": nowhere
  bool warned_ = false;
};

}  // namespace onward::training
