#include "training/config/precision.h"

namespace onward::training {

bool ScalesLoss(const TrainConfig& config) {
  return config.precision().autocast() == PrecisionConfig::FLOAT16;
}

Precision SessionPrecision(const TrainConfig& config) {
  const PrecisionConfig& precision = config.precision();
  if (precision.arithmetic() == PrecisionConfig::STRICT) return Precision::kStrict;
  const bool fast =
      precision.arithmetic() == PrecisionConfig::FAST ||
      (!precision.has_arithmetic() && precision.autocast() == PrecisionConfig::BFLOAT16);
  return fast ? Precision::kFast : Precision::kDefault;
}

}  // namespace onward::training
