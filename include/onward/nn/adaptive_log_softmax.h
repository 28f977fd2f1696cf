// A softmax over many classes whose rare ones share short features.
#pragma once

#include "onward/nn/linear.h"

namespace onward::nn {

struct AdaptiveLogSoftmaxOptions {
  std::vector<int64_t> cutoffs;  // rising: where the clusters of rarer and rarer classes begin
  double div_value = 4;          // by which their features are shorter, cluster by cluster
  bool head_bias = false;
};

// torch.nn.AdaptiveLogSoftmaxWithLoss, by its names: "head" and "tail.<cluster>.<0 or 1>". The
// log-probabilities of all classes are computed, so that a graph of fixed nodes has it: the memory
// is that of a plain softmax, the weights are fewer. Of features [batch, in].
class AdaptiveLogSoftmaxWithLoss : public Module {
 public:
  using Options = AdaptiveLogSoftmaxOptions;
  AdaptiveLogSoftmaxWithLoss(Module& parent, std::string_view name, int64_t in, int64_t classes,
                             const Options& options);
  struct Result {
    Expr output;  // [batch]: the target's log-probability
    Expr loss;    // minus its mean
  };
  // Targets [batch], int64 in [0, classes).
  Result operator()(const Expr& x, const Expr& target);
  Expr LogProbabilities(const Expr& x);  // [batch, classes]

  Linear head;

 private:
  struct Cluster : Module {
    Cluster(Module& parent, std::string_view name, int64_t in, int64_t between, int64_t classes);
    Linear narrow, wide;
  };
  const std::vector<int64_t> cutoffs_;
  ModuleList<Cluster> tail_;
};

}  // namespace onward::nn
