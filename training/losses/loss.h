// Losses as functions of expressions, with PyTorch's meaning and reductions (torch.nn.functional).
// Whatever dims are symbolic stay so. Each is of the input's dtype. Nothing is broadcast: operands
// that are compared element by element have equal shapes, weights broadcast to those. What differs
// is an error of the sink where dims are known, else of the run that is given such shapes. Written
// in standard ops, and ops of ours that look at shapes and are Identity elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "onward/expr.h"

namespace onward::loss {

enum class Reduction : uint8_t { kNone, kMean, kSum };

struct ClassOptions {
  Expr weight;                  // per class, or none
  int64_t ignore_index = -100;  // targets that count for nothing
  double label_smoothing = 0;   // CrossEntropy alone
  Reduction reduction = Reduction::kMean;
};

// Takes scores [classes] or [batch, classes, ...]. Targets are integer classes without the class
// axis, or probabilities of the scores' shape. The mean is over the targets that count, by weight.
Expr CrossEntropy(const Expr& scores, const Expr& target, const ClassOptions& options = {});
// Takes log-probabilities, with integer targets.
Expr NegativeLogLikelihood(const Expr& log_probabilities, const Expr& target,
                           const ClassOptions& options = {});

// float64: what the mean of both divides by, the weights of the targets that count. 0: none counts.
Expr TargetWeight(const Expr& scores, const Expr& target, const ClassOptions& options = {});

// Scores [..., classes] and targets [...] (or probabilities [..., classes]) as rows: [n, classes]
// and [n] (or [n, classes]). `loss`: its name, for messages.
struct ClassRows {
  Expr scores, target;
};
ClassRows RowsOfClasses(const std::string& loss, const Expr& scores, const Expr& target);

// Takes probabilities; logarithms are at least -100. Elements of both that are not in [0, 1] are an
// error of the run.
Expr BinaryCrossEntropy(const Expr& probability, const Expr& target, const Expr& weight = {},
                        Reduction reduction = Reduction::kMean);
// `positive_weight` multiplies the positive part and broadcasts.
Expr BinaryCrossEntropyWithLogits(const Expr& score, const Expr& target, const Expr& weight = {},
                                  const Expr& positive_weight = {},
                                  Reduction reduction = Reduction::kMean);

Expr MeanSquaredError(const Expr& x, const Expr& target, Reduction reduction = Reduction::kMean);
Expr L1(const Expr& x, const Expr& target, Reduction reduction = Reduction::kMean);
// Quadratic up to delta, then linear.
Expr Huber(const Expr& x, const Expr& target, double delta = 1,
           Reduction reduction = Reduction::kMean);
// Huber divided by beta; beta 0 is L1.
Expr SmoothL1(const Expr& x, const Expr& target, double beta = 1,
              Reduction reduction = Reduction::kMean);

// target * (log(target) - x) of log-probabilities x; `log_target`: the target is a logarithm too.
// `per_batch` divides the sum by the first dim in place of `reduction`.
Expr KullbackLeibler(const Expr& x, const Expr& target, bool log_target = false,
                     bool per_batch = false, Reduction reduction = Reduction::kMean);
// `full` adds what does not depend on x: Stirling's approximation of log(target!), log(2 pi) / 2.
Expr PoissonNegativeLogLikelihood(const Expr& x, const Expr& target, bool log_input = true,
                                  double epsilon = 1e-8, Reduction reduction = Reduction::kMean,
                                  bool full = false);
Expr GaussianNegativeLogLikelihood(const Expr& x, const Expr& target, const Expr& variance,
                                   double epsilon = 1e-6, Reduction reduction = Reduction::kMean,
                                   bool full = false);

// Compares pairs of rows; targets are 1 (alike) or -1.
Expr CosineEmbedding(const Expr& a, const Expr& b, const Expr& target, double margin = 0,
                     Reduction reduction = Reduction::kMean);
// max(0, d(anchor, positive) - d(anchor, negative) + margin) with Euclidean distances of rows;
// `swap` takes d(positive, negative) where that is smaller.
Expr TripletMargin(const Expr& anchor, const Expr& positive, const Expr& negative,
                   double margin = 1, double epsilon = 1e-6, bool swap = false,
                   Reduction reduction = Reduction::kMean);
// The same with a distance of one's own, of two batches of vectors to [batch].
using Distance = std::function<Expr(const Expr& a, const Expr& b)>;
Expr TripletMarginWithDistance(const Expr& anchor, const Expr& positive, const Expr& negative,
                               const Distance& distance, double margin = 1, bool swap = false,
                               Reduction reduction = Reduction::kMean);
// x where the target is 1, max(0, margin - x) where it is -1.
Expr HingeEmbedding(const Expr& x, const Expr& target, double margin = 1,
                    Reduction reduction = Reduction::kMean);
// max(0, -target * (a - b) + margin).
Expr MarginRanking(const Expr& a, const Expr& b, const Expr& target, double margin = 0,
                   Reduction reduction = Reduction::kMean);
// log(1 + exp(-target * x)).
Expr SoftMargin(const Expr& x, const Expr& target, Reduction reduction = Reduction::kMean);

// --- several classes

// The mean over the other classes j of max(0, margin - x[target] + x[j]) ^ power, of scores
// [batch, classes] and integer targets [batch]; `weight` per class is the target's.
Expr MultiMargin(const Expr& x, const Expr& target, int64_t power = 1, double margin = 1,
                 const Expr& weight = {}, Reduction reduction = Reduction::kMean);
// Targets [batch, classes] list several right classes, up to the first -1. The loss is the sum over
// right classes i and others j of max(0, 1 - x[i] + x[j]), divided by the number of classes.
Expr MultiLabelMargin(const Expr& x, const Expr& target, Reduction reduction = Reduction::kMean);
// Binary cross entropy of each class, as its mean over the classes; targets are 0 or 1.
Expr MultiLabelSoftMargin(const Expr& x, const Expr& target, const Expr& weight = {},
                          Reduction reduction = Reduction::kMean);

struct CtcOptions {
  int64_t blank = 0;
  bool zero_infinity = false;  // a target that does not fit into its frames has the loss 0
  Reduction reduction = Reduction::kMean;  // the mean divides by the targets' lengths first
  bool per_label = false;                  // so do the others
};

// Takes log-probabilities [frames, batch, classes] in float or more; `targets` [batch, longest],
// padded with anything, or the targets of the batch in a row [sum of lengths]; `frames` and
// `lengths` [batch], of the scores and the targets. The gradient is that of the formula; PyTorch's
// is equal behind a LogSoftmax. Where the loss is infinite the gradient is 0.
Expr Ctc(const Expr& log_probabilities, const Expr& targets, const Expr& frames,
         const Expr& lengths, const CtcOptions& options = {});

}  // namespace onward::loss
