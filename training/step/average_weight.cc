#include "training/step/average_weight.h"

#include "onward/tensor.h"
#include "training/step/phase.h"

namespace onward::training {

absl::Status SetAverageWeight(const TrainConfig& config, TrainingProgress& progress,
                              TrainingSession& session) {
  if (!config.has_average()) return absl::OkStatus();
  const AverageConfig& average = config.average();
  const bool counts =
      progress.step >= average.start() && (progress.step - average.start()) % average.every() == 0;
  double weight = 0;
  if (counts) {
    ++progress.averaged;
    weight = average.kind() == AverageConfig::UNIFORM ? 1.0 / static_cast<double>(progress.averaged)
             : progress.averaged == 1                 ? 1.0
                                                      : 1 - average.decay();
  }
  return session.Set(&StepInputs::average_weight, Tensor::Scalar(weight));
}

}  // namespace onward::training
