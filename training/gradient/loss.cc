// The losses of the standard over class scores [N, classes, ...] and labels [N, ...].
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The gradient of each sample's own loss before weights, [N, ...], and its class; 0 and class 0 for
// a sample that is ignored.
struct Samples {
  Expr gradients, classes;
};

Samples SamplesOf(const GradientScope& s) {
  // Sums of samples outgrow 16-bit floats.
  const Expr labels = s.input(1), weights = s.input(2), dy = Widened(s.upstream(0));
  Expr classes = labels, counts, counted;
  if (s.attributes().Has("ignore_index")) {
    // The labels' type may not have that number.
    const Expr wide = labels.dtype() == DType::kInt64 ? labels : Cast(labels, DType::kInt64);
    const Expr ignored =
        Equal(wide, wide.sink()->Constant(Tensor::Scalar(s.attributes().Int("ignore_index", 0))));
    classes = Where(ignored, ScalarLike(labels, 0), labels);
    counted = Not(ignored);
    counts = Cast(counted, dy.dtype());
  }
  if (weights.valid()) {
    const Expr own = Like(Gather(weights, classes), dy);
    counts = counts.valid() ? own * counts : own;
  }
  if (!counts.valid()) counts = Expand(ScalarLike(dy, 1), Shape(labels));
  Expr gradient = dy;
  if (s.attributes().String("reduction", "mean") == "mean")
    gradient = gradient / ReduceSum(counts, {}, false);
  gradient = gradient * counts;
  if (counted.valid()) gradient = Masked(counted, gradient);  // though all are ignored
  return {Like(gradient, s.input(0)), classes};
}

// The gradient of the log probabilities: -1 times the sample's, at its class.
Expr Scattered(const Samples& samples, const Expr& onto) {
  return Op("ScatterElements",
            {onto, Unsqueeze(samples.classes, {1}), -Unsqueeze(samples.gradients, {1})},
            {{"axis", int64_t{1}}, {"reduction", std::string("add")}});
}

absl::Status CheckWeights(const GradientScope& s) {
  if (!s.wants(2)) return absl::OkStatus();
  return absl::UnimplementedError("the weights of the classes have no gradient");
}

Gradients NegativeLogLikelihoodLossRule(const GradientScope& s) {
  ONWARD_RETURN_IF_ERROR(CheckWeights(s));
  const Samples samples = SamplesOf(s);
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = Scattered(samples, ZerosLike(s.input(0)));
  return gradients;
}

// The gradient g of the log probabilities gives g - softmax * sum(g).
Gradients SoftmaxCrossEntropyLossRule(const GradientScope& s) {
  ONWARD_RETURN_IF_ERROR(CheckWeights(s));
  const bool has_output = s.node().outputs.size() > 1 && s.output(1).valid();
  const Expr scores = s.input(0);
  std::vector<Expr> gradients = NoGradients(s);
  if (s.allow_onward_ops() && !has_output) {
    const Samples samples = SamplesOf(s);
    gradients[0] = Op("SoftmaxCrossEntropyLossGradient",
                      {scores, samples.classes, samples.gradients}, {}, kOnwardDomain);
    return gradients;
  }
  const Expr softmax = has_output ? Exp(s.output(1)) : Softmax(scores, 1);
  Expr dx;
  if (s.upstream(0).valid()) {
    const Samples samples = SamplesOf(s);
    dx = Scattered(samples, softmax * Unsqueeze(samples.gradients, {1}));
  }
  if (has_output && s.upstream(1).valid()) {
    const Expr g = s.upstream(1);
    const Expr part = g - softmax * ReduceSum(g, {1});
    dx = dx.valid() ? dx + part : part;
  }
  gradients[0] = dx;
  return gradients;
}

constexpr training::GradientEntry kRules[] = {
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLossRule},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLossRule},
};

}  // namespace

GradientList LossGradients() { return kRules; }

}  // namespace onward::gradient
