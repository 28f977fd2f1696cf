// Probabilities of classes from the scores of their pairs.
#pragma once

#include <vector>

#include "absl/types/span.h"

namespace onward::kernels::cpu {

// Platt's sigmoid 1 / (1 + exp(a * score + b)) for each pair (i < j, in order), then the pairwise
// coupling of Wu, Lin and Weng (2004), "Probability estimates for multi-class classification by
// pairwise coupling", second method, with libsvm's stopping rule. `probabilities` has one element
// per class, the other arguments at least one per pair.
void ClassProbabilities(absl::Span<const double> scores, const std::vector<float>& a,
                        const std::vector<float>& b, absl::Span<double> probabilities);

}  // namespace onward::kernels::cpu
