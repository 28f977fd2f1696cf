#include "training/config/make_loss.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/builder/functions.h"
#include "training/losses/loss.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT: reads as formulas

struct Operands {
  const LossConfig& config;
  Expr scores, target;
  loss::Reduction reduction() const {
    return config.sum() ? loss::Reduction::kSum : loss::Reduction::kMean;
  }
};

loss::ClassOptions ClassOptionsOf(const Operands& of) {
  loss::ClassOptions options;
  options.ignore_index = of.config.ignore_index();
  options.label_smoothing = of.config.label_smoothing();
  options.reduction = of.reduction();
  if (of.config.weight_size() > 0) {
    Tensor weight(DType::kFloat64, {of.config.weight_size()});
    std::copy(of.config.weight().begin(), of.config.weight().end(), weight.mutable_data<double>());
    options.weight =
        Cast(of.scores.sink()->Constant(std::move(weight), "class_weight"), of.scores.dtype());
  }
  return options;
}

Expr CrossEntropyOf(const Operands& of) {
  return loss::CrossEntropy(of.scores, of.target, ClassOptionsOf(of));
}
Expr NllOf(const Operands& of) {
  return loss::NegativeLogLikelihood(of.scores, of.target, ClassOptionsOf(of));
}
Expr BceOf(const Operands& of) {
  return loss::BinaryCrossEntropy(of.scores, CastLike(of.target, of.scores), {}, of.reduction());
}
Expr BceWithLogitsOf(const Operands& of) {
  return loss::BinaryCrossEntropyWithLogits(of.scores, CastLike(of.target, of.scores), {}, {},
                                            of.reduction());
}
Expr MseOf(const Operands& of) {
  return loss::MeanSquaredError(of.scores, CastLike(of.target, of.scores), of.reduction());
}
Expr L1Of(const Operands& of) {
  return loss::L1(of.scores, CastLike(of.target, of.scores), of.reduction());
}
Expr HuberOf(const Operands& of) {
  return loss::Huber(of.scores, CastLike(of.target, of.scores), of.config.delta(), of.reduction());
}
Expr SmoothL1Of(const Operands& of) {
  return loss::SmoothL1(of.scores, CastLike(of.target, of.scores), of.config.delta(),
                        of.reduction());
}
Expr KlOf(const Operands& of) {
  return loss::KullbackLeibler(of.scores, CastLike(of.target, of.scores), false, !of.config.sum(),
                               of.reduction());
}
Expr HingeEmbeddingOf(const Operands& of) {
  return loss::HingeEmbedding(of.scores, CastLike(of.target, of.scores),
                              of.config.has_margin() ? of.config.margin() : 1, of.reduction());
}
Expr SoftMarginOf(const Operands& of) {
  return loss::SoftMargin(of.scores, CastLike(of.target, of.scores), of.reduction());
}

struct Entry {
  std::string_view kind;
  Expr (*make)(const Operands& of);
  bool classes = false;
};
constexpr Entry kLosses[] = {
    {"bce", BceOf},
    {"bce_with_logits", BceWithLogitsOf},
    {"cross_entropy", CrossEntropyOf, true},
    {"hinge_embedding", HingeEmbeddingOf},
    {"huber", HuberOf},
    {"kl", KlOf},
    {"l1", L1Of},
    {"mse", MseOf},
    {"nll", NllOf, true},
    {"smooth_l1", SmoothL1Of},
    {"soft_margin", SoftMarginOf},
};

const Entry* Find(const LossConfig& config) {
  for (const Entry& entry : kLosses) {
    if (entry.kind == config.kind()) return &entry;
  }
  return nullptr;
}

}  // namespace

bool HasClasses(const LossConfig& config) {
  const Entry* entry = Find(config);
  return entry != nullptr && entry->classes;
}

Expr PredictedClass(const LossConfig& config, const Expr& scores) {
  const Type& type = scores.type();
  // Scores [classes] of one example.
  const int64_t axis = type.shape && type.shape->size() == 1 ? 0 : config.class_axis();
  return Op("ArgMax", {scores}, {{"axis", axis}, {"keepdims", int64_t{0}}});
}

absl::StatusOr<Expr> MakeLoss(const LossConfig& config, const Expr& scores, const Expr& target) {
  const Entry* entry = Find(config);
  if (entry == nullptr) {
    std::string known;
    for (const Entry& each : kLosses) absl::StrAppend(&known, std::string(each.kind), ", ");
    return absl::InvalidArgumentError(
        absl::StrCat("there is no loss '", config.kind(), "'; there are ", known, "output"));
  }
  Operands of{config, scores, target};
  if (entry->classes && config.class_axis() != 1) {
    // Classes are the last axis: rows of scores.
    if (config.class_axis() != -1)
      return absl::InvalidArgumentError(
          absl::StrCat("loss.class_axis is 1 or -1, not ", config.class_axis()));
    const Expr classes = Shape(scores, -1, std::numeric_limits<int64_t>::max());
    ExprSink& sink = *scores.sink();
    of.scores = Reshape(scores, expr::Concat({sink.Ints({-1}), classes}, 0));
    of.target = Reshape(target, sink.Ints({-1}));
  }
  const Expr loss = entry->make(of);
  if (!scores.sink()->status().ok()) return scores.sink()->status();
  return loss;
}

}  // namespace onward
