// Cross entropy over classes and of two outcomes.
#include <limits>

#include "absl/strings/str_cat.h"
#include "onward/dtype.h"
#include "training/losses/operands.h"
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

int64_t ClassAxis(const Expr& scores) {
  return scores.type().shape && scores.type().shape->size() == 1 ? 0 : 1;
}

// Integer targets as the loss needs them: the weight of each target (0 for ignored ones).
struct Targets {
  Expr counts;  // 1 or 0, in the scores' dtype, without class axis
  Expr weight;  // counts times the class's weight
};

Targets ReadTargets(const Expr& scores, const Expr& target, const ClassOptions& options) {
  Targets read;
  const Expr labels = Cast(target, DType::kInt64);  // uint8 has no -100
  const Expr ignored = labels.sink()->Constant(Tensor::Scalar<int64_t>(options.ignore_index));
  const Expr kept = Not(Equal(labels, ignored));
  const Expr safe = Where(kept, labels, ZerosLike(labels));
  read.counts = Cast(kept, scores.dtype());
  read.weight = options.weight.valid() ? Gather(options.weight, safe) * read.counts : read.counts;
  return read;
}

// A weight per class in the place of the class axis.
Expr AlongClasses(const Expr& weight, const Expr& scores) {
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < static_cast<int64_t>(scores.type().shape->size()); ++i)
    axes.push_back(i - 1);
  return axes.empty() ? weight : Unsqueeze(weight, axes);
}

Expr WeightedMean(const Expr& elements, const Expr& weight, Reduction reduction) {
  if (reduction != Reduction::kMean) return Reduced(elements, reduction);
  return ReduceSum(elements, {}, false) / ReduceSum(weight, {}, false);
}

Expr CrossEntropyOfProbabilities(const Expr& scores, const Expr& target,
                                 const ClassOptions& options, const Expr& classes) {
  const int64_t axis = ClassAxis(scores);
  const Expr smooth = options.label_smoothing == 0 ? target
                                                   : target * (1 - options.label_smoothing) +
                                                         options.label_smoothing / classes;
  Expr each = LogSoftmax(scores, axis) * smooth;
  if (options.weight.valid()) each = each * AlongClasses(options.weight, scores);
  const Expr loss = -ReduceSum(each, {axis}, false);
  return Reduced(loss, options.reduction);
}

// An op of the standard, which needs a batch, refuses classes that are out of range, and of whose
// kernels those of SoftmaxCrossEntropyLoss keep no probabilities.
Expr LossOfClasses(const char* op, const Expr& scores, const Expr& target,
                   const ClassOptions& options) {
  const bool single = ClassAxis(scores) == 0;
  const Expr labels = target.dtype() == DType::kInt32 ? target : Cast(target, DType::kInt64);
  std::vector<Expr> inputs = {single ? Unsqueeze(scores, {0}) : scores,
                              single ? Unsqueeze(labels, {0}) : labels};
  if (options.weight.valid()) inputs.push_back(options.weight);
  constexpr const char* kNames[] = {"none", "mean", "sum"};
  Attributes attributes;
  attributes.Set("ignore_index", Attribute(options.ignore_index));
  attributes.Set("reduction", Attribute(std::string(kNames[static_cast<int>(options.reduction)])));
  const Expr loss = expr::Op(op, std::move(inputs), std::move(attributes));
  return single && options.reduction == Reduction::kNone ? Squeeze(loss, {0}) : loss;
}

// The weighted sum over classes of -log(softmax).
Expr SumOfLosses(const Expr& scores, const Expr& weight, const Expr& classes) {
  const int64_t axis = ClassAxis(scores);
  if (scores.sink() == nullptr) return {};
  const Expr normalizer = expr::Op("ReduceLogSumExp", {scores, scores.sink()->Ints({axis})},
                                   {{"keepdims", int64_t{0}}});
  if (!weight.valid()) return normalizer * classes - ReduceSum(scores, {axis}, false);
  return normalizer * ReduceSum(weight, {}, false) -
         ReduceSum(scores * AlongClasses(weight, scores), {axis}, false);
}

// Floats of another rank than the scores are labels of the wrong dtype.
bool MayBeProbabilities(const Expr& scores, const Expr& target) {
  const auto &shape = scores.type().shape, &given = target.type().shape;
  if (!shape || !given || shape->size() == given->size()) return true;
  Refused(scores,
          absl::StrCat("loss cross_entropy: the target is ", target.type().ToString(),
                       "; classes are integers: cast them to int64 (`element: INT64` of a csv or "
                       "jsonl field). Floats are probabilities, of the shape of the scores ",
                       scores.type().ToString()));
  return false;
}

// With a weight for each class.
ClassOptions Fitted(const std::string& loss, const Expr& scores, ClassOptions options) {
  if (options.weight.valid())
    options.weight = OnePer(loss, scores, ClassAxis(scores), options.weight, "the weight");
  return options;
}

}  // namespace

Expr NegativeLogLikelihood(const Expr& log_probabilities, const Expr& target,
                           const ClassOptions& options) {
  constexpr char kName[] = "nll";
  if (!IsInteger(kName, target, "the target")) return {};
  const int64_t axis = ClassAxis(log_probabilities);
  return LossOfClasses("NegativeLogLikelihoodLoss", log_probabilities,
                       ClassTarget(kName, log_probabilities, target, axis),
                       Fitted(kName, log_probabilities, options));
}

Expr CrossEntropy(const Expr& scores, const Expr& given, const ClassOptions& unfitted) {
  constexpr char kName[] = "cross_entropy";
  if (!scores.valid() || !given.valid()) return {};
  const int64_t axis = ClassAxis(scores);
  const ClassOptions options = Fitted(kName, scores, unfitted);
  const Expr classes = Squeeze(Cast(Shape(scores, axis, axis + 1), scores.dtype()), {0});
  if (IsFloating(given.dtype())) {
    if (!MayBeProbabilities(scores, given)) return {};
    return CrossEntropyOfProbabilities(
        scores, SameShape(kName, scores, given, "target of probabilities"), options, classes);
  }
  const Expr target = ClassTarget(kName, scores, given, axis);
  const Expr hard = LossOfClasses("SoftmaxCrossEntropyLoss", scores, target, options);
  if (options.label_smoothing == 0) return hard;
  const Targets targets = ReadTargets(scores, target, options);
  const Expr spread = SumOfLosses(scores, options.weight, classes) * targets.counts;
  const Expr soft = WeightedMean(spread, targets.weight, options.reduction);
  return hard * (1 - options.label_smoothing) + soft * (options.label_smoothing / classes);
}

Expr TargetWeight(const Expr& scores, const Expr& target, const ClassOptions& options) {
  if (!scores.valid() || !target.valid()) return {};
  if (IsFloating(target.dtype())) {
    const int64_t axis = ClassAxis(scores);
    const Expr classes = Squeeze(Shape(scores, axis, axis + 1), {0});
    return Cast(Size(scores) / classes, DType::kFloat64);
  }
  const Targets targets = ReadTargets(scores, target, options);
  return ReduceSum(Cast(targets.weight, DType::kFloat64), {}, false);
}

ClassRows RowsOfClasses(const std::string& loss, const Expr& scores, const Expr& target) {
  if (!scores.valid() || !target.valid()) return {};
  const Expr one = scores.sink()->Ints({-1});
  const Expr classes = Shape(scores, -1, std::numeric_limits<int64_t>::max());
  const Expr rows = expr::Concat({one, classes}, 0);
  if (IsFloating(target.dtype()))
    return {Reshape(scores, rows), Reshape(SameShape(loss, scores, target, "target"), rows)};
  return {Reshape(scores, rows), Reshape(ClassTarget(loss, scores, target, -1), one)};
}

Expr BinaryCrossEntropy(const Expr& given, const Expr& labels, const Expr& weight,
                        Reduction reduction) {
  constexpr char kName[] = "bce";
  const Expr target = Probability(kName, SameShape(kName, given, labels), labels, "the target",
                                  "targets are 0 and 1, or probabilities");
  const Expr probability =
      Probability(kName, given, given, "the output", "put a Sigmoid on it, or use bce_with_logits");
  const Expr yes = AtLeast(Log(probability), -100), no = AtLeast(Log(1.0 - probability), -100);
  const Expr loss = (target - 1.0) * no - target * yes;
  return Reduced(weight.valid() ? loss * WeightOf(kName, given, weight) : loss, reduction);
}

Expr BinaryCrossEntropyWithLogits(const Expr& score, const Expr& labels, const Expr& weight,
                                  const Expr& positive, Reduction reduction) {
  constexpr char kName[] = "bce_with_logits";
  const Expr target = SameShape(kName, score, labels);
  const Expr positive_weight = WeightOf(kName, score, positive, "positive_weight");
  // -log(sigmoid(x)) is softplus(-x), and -log(1 - sigmoid(x)) is x more.
  const Expr softplus = Softplus(-score);
  const Expr scaled =
      positive_weight.valid() ? softplus * ((positive_weight - 1.0) * target + 1.0) : softplus;
  const Expr loss = (1.0 - target) * score + scaled;
  return Reduced(weight.valid() ? loss * WeightOf(kName, score, weight) : loss, reduction);
}

}  // namespace onward::loss
