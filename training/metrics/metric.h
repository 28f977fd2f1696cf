// A metric that looks at the scores and targets of an evaluation.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "onward/tensor.h"

namespace onward::training {

// Adds up the batches of one evaluation. Not thread-safe.
class Metric {
 public:
  virtual ~Metric() = default;
  // A batch: the scores and the target that the loss is given. Unimplemented: a dtype that no
  // metric takes.
  virtual absl::Status Add(const Tensor& scores, const Tensor& target) = 0;
  // nullopt: the metric is undefined for what was added.
  virtual std::optional<double> Value() const = 0;
};

}  // namespace onward::training
