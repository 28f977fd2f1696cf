#include "training/step/phases.h"

namespace onward::training {

bool IsLbfgs(const TrainConfig& config) { return config.optimizer().has_lbfgs(); }

std::vector<std::string> TrainingPhases::weights() const {
  std::vector<std::string> names = parameters;
  names.insert(names.end(), buffers.begin(), buffers.end());
  return names;
}

}  // namespace onward::training
