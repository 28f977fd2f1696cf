// Metrics of scores and targets: rows of the table in training/metrics/metrics.cc.
#pragma once

#include <cstdint>
#include <memory>

#include "onward/metric.h"
#include "onward/train_config.pb.h"

namespace onward::training {

// The area under the ROC curve: the share of pairs of a target 0 and a target 1 whose scores are in
// the right order, where equal ones count half. Of bce's targets [batch, labels] the mean over the
// labels that have both. Undefined where none has. It keeps every score until the end.
std::unique_ptr<Metric> MakeAuc(const LossConfig& loss, int64_t number);

// The share of targets whose score is among the `number` highest; of equal scores those of the
// lower classes are higher.
std::unique_ptr<Metric> MakeTopAccuracy(const LossConfig& loss, int64_t number);

// The errors of all elements.
std::unique_ptr<Metric> MakeMeanAbsoluteError(const LossConfig& loss, int64_t number);
std::unique_ptr<Metric> MakeRootMeanSquaredError(const LossConfig& loss, int64_t number);

// The coefficient of determination, 1 - sum (target - score)^2 / sum (target - mean)^2. Of targets
// [batch, outputs] the mean over the outputs. Undefined where targets do not differ.
std::unique_ptr<Metric> MakeR2(const LossConfig& loss, int64_t number);

}  // namespace onward::training
