// A measure of evaluations of your own, beside those that a config can name: the config declares
// it, and the program gives it.
//
//   class Dice : public onward::Metric { ... };
//   // evaluation { ... metric: "dice"  own { name: "dice" } }
//   options.metrics["dice"] = [] { return std::make_unique<Dice>(); };
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "onward/tensor.h"

namespace onward {

// Adds up the batches of one evaluation. Not thread-safe.
class Metric {
 public:
  virtual ~Metric() = default;
  // A batch: the scores and the target that the loss is given, the target in the data's dtype. An
  // error ends the evaluation.
  virtual absl::Status Add(const Tensor& scores, const Tensor& target) = 0;
  // nullopt: the metric is undefined for what was added.
  virtual std::optional<double> Value() const = 0;
};

// Makes the metric of one evaluation; not null.
using MetricFactory = std::function<std::unique_ptr<Metric>()>;

}  // namespace onward
