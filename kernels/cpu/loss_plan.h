// SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and the former's gradient around a loop over
// labels, which the reference and each instruction set supply.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/bind/loss.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

struct LossData {
  const void* scores;
  TensorView labels;
  const void* weights;  // of the classes; may be null
  void* log_prob;       // of the scores' shape; may be null
  double* losses;       // per label
  double* label_weights;
  bool ignores = false;
  int64_t ignored = 0;
};

// dX[c] = dY * (softmax(scores)[c] - (c is the label ? 1 : 0)) for each label. dX may be the
// scores.
struct LossGradientData {
  const void* scores;
  TensorView labels;
  const void* dy;  // per label
  void* dx;
};

inline int64_t ReadLabel(const TensorView& labels, int64_t i) {
  return labels.dtype == DType::kInt64 ? labels.as<const int64_t>()[i]
                                       : labels.as<const int32_t>()[i];
}

// The labels [begin, end). Return the first one whose label is not a class, or -1.
using LossLoop = int64_t (*)(const LossPlan& plan, const LossData& data, int64_t begin,
                             int64_t end);
using LossGradientLoop = int64_t (*)(const LossPlan& plan, const LossGradientData& data,
                                     int64_t begin, int64_t end);

// Puts down label i, given the logarithm of its class's probability as a function of the class.
// Returns whether the label is a class or ignored. `weight_at(c)`: the weight of class c.
template <typename LogProbability, typename Weight>
bool StoreLabelLoss(const LossPlan& plan, const LossData& data, int64_t i,
                    LogProbability&& log_probability, Weight&& weight_at) {
  const int64_t label = ReadLabel(data.labels, i);
  data.losses[i] = data.label_weights[i] = 0;
  if (data.ignores && label == data.ignored) return true;
  if (label < 0 || label >= plan.classes) return false;
  data.label_weights[i] = data.weights == nullptr ? 1.0 : weight_at(label);
  data.losses[i] = -log_probability(label) * data.label_weights[i];
  return true;
}

// Losses are summed in double, in order.
absl::StatusOr<std::unique_ptr<Kernel>> MakeLossKernel(const NodeSpec& spec, LossLoop loop);
absl::StatusOr<std::unique_ptr<Kernel>> MakeLossGradientKernel(LossGradientLoop loop);

}  // namespace onward::kernels::cpu
