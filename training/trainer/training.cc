#include "onward/training.h"

#include <utility>

#include "training/trainer/training_loop.h"

namespace onward {

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const TrainConfig& config,
                                                         TrainerOptions options) {
  return training::TrainingLoop::Create(config, std::move(options));
}

}  // namespace onward
