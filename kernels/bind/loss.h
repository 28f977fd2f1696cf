// The attributes and geometry of SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and the
// former's gradient.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Scores [batch, classes, positions], labels [batch, positions].
struct LossPlan {
  int64_t batch = 1, classes = 1, positions = 1;

  ONWARD_HOST_DEVICE int64_t labels() const { return batch * positions; }
  // The score of class 0 for label i; those of the other classes follow `positions` apart.
  ONWARD_HOST_DEVICE int64_t FirstScore(int64_t i) const {
    return i / positions * classes * positions + i % positions;
  }
};

enum class LossReduction : uint8_t { kNone, kSum, kMean };

struct LossAttributes {
  LossReduction reduction = LossReduction::kMean;
  bool ignores = false;
  int64_t ignored = 0;

  // InvalidArgument: an unknown reduction.
  static absl::StatusOr<LossAttributes> Parse(const NodeSpec& spec);
};

// Keep a LossPlan as the state and settle the outputs. InvalidArgument: dims that do not fit the
// scores'. The scratch of a loss holds a loss and then a weight for each label, in double.
absl::Status BindLoss(BindContext& context, LossReduction reduction);
absl::Status BindLossGradient(BindContext& context);

}  // namespace onward::kernels
