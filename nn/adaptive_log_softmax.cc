#include "onward/nn/adaptive_log_softmax.h"

#include <cmath>

#include "onward/functions.h"

namespace onward::nn {

AdaptiveLogSoftmaxWithLoss::Cluster::Cluster(Module& parent, std::string_view name, int64_t in,
                                             int64_t between, int64_t classes)
    : Module(parent, name),
      narrow(*this, "0", in, between, {false}),
      wide(*this, "1", between, classes, {false}) {}

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(Module& parent, std::string_view name,
                                                       int64_t in, int64_t classes,
                                                       const Options& options)
    : Module(parent, name),
      head(*this, "head", in,
           options.cutoffs.empty()
               ? 1
               : options.cutoffs[0] + static_cast<int64_t>(options.cutoffs.size()),
           {options.head_bias}),
      cutoffs_(options.cutoffs),
      tail_(*this, "tail") {
  bool rising = !cutoffs_.empty() && cutoffs_[0] >= 1 && cutoffs_.back() < classes;
  for (size_t i = 1; i < cutoffs_.size(); ++i) rising &= cutoffs_[i] > cutoffs_[i - 1];
  if (!Require(rising, "cutoffs must rise, from at least 1 to below the number of classes") ||
      !Require(options.div_value > 0, "div_value must be above 0"))
    return;
  for (size_t i = 0; i < cutoffs_.size(); ++i) {
    const int64_t end = i + 1 < cutoffs_.size() ? cutoffs_[i + 1] : classes;
    const double divisor = std::pow(options.div_value, static_cast<double>(i + 1));
    const auto between = static_cast<int64_t>(std::floor(static_cast<double>(in) / divisor));
    tail_.Add(in, between, end - cutoffs_[i]);
  }
}

Expr AdaptiveLogSoftmaxWithLoss::LogProbabilities(const Expr& x) {
  const Scope scope(*this);
  if (!x.valid() || tail_.size() != cutoffs_.size() || tail_.size() == 0) return {};
  const Expr first = LogSoftmax(head(x), 1);
  std::vector<Expr> parts = {Slice(first, {0}, {cutoffs_[0]}, {1})};
  for (size_t i = 0; i < cutoffs_.size(); ++i) {
    const int64_t at = cutoffs_[0] + static_cast<int64_t>(i);
    const Expr cluster = Slice(first, {at}, {at + 1}, {1});
    parts.push_back(LogSoftmax(tail_[i].wide(tail_[i].narrow(x)), 1) + cluster);
  }
  return Concat(parts, 1);
}

AdaptiveLogSoftmaxWithLoss::Result AdaptiveLogSoftmaxWithLoss::operator()(const Expr& x,
                                                                          const Expr& target) {
  const Expr all = LogProbabilities(x);
  if (!all.valid() || !target.valid()) return {};
  const Expr chosen = Op("GatherElements", {all, Unsqueeze(target, {1})}, {{"axis", int64_t{1}}});
  const Expr output = Squeeze(chosen, {1});
  return {output, -ReduceMean(output, {}, false)};
}

}  // namespace onward::nn
