#include "training/config/make_loss.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/dtype.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/config/kinds.h"
#include "training/losses/loss.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

struct Operands : LossOperands {
  const LossConfig& config;
  bool parts = false;  // the sum of what the mean is over
  bool sums() const { return parts || SumsLoss(config); }
  loss::Reduction reduction() const {
    return sums() ? loss::Reduction::kSum : loss::Reduction::kMean;
  }
};

using Numbers = google::protobuf::RepeatedField<double>;

// None where the config has none.
Expr WeightsOf(const Operands& of, const Numbers& numbers, const char* name = "class_weight") {
  if (numbers.empty()) return {};
  Tensor weights(DType::kFloat64, {numbers.size()});
  std::copy(numbers.begin(), numbers.end(), weights.mutable_data<double>());
  return Cast(of.scores.sink()->Constant(std::move(weights), name), of.scores.dtype());
}

// The options of cross_entropy or nll.
loss::ClassOptions ClassOptionsOf(const Operands& of) {
  loss::ClassOptions options;
  options.reduction = of.reduction();
  if (of.config.has_nll()) {
    options.ignore_index = of.config.nll().ignore_index();
    options.weight = WeightsOf(of, of.config.nll().weight());
  } else {
    options.ignore_index = of.config.cross_entropy().ignore_index();
    options.label_smoothing = of.config.cross_entropy().label_smoothing();
    options.weight = WeightsOf(of, of.config.cross_entropy().weight());
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
  return loss::BinaryCrossEntropy(of.scores, of.target, WeightsOf(of, of.config.bce().weight()),
                                  of.reduction());
}
Expr BceWithLogitsOf(const Operands& of) {
  const LossConfig::BCEWithLogits& config = of.config.bce_with_logits();
  return loss::BinaryCrossEntropyWithLogits(of.scores, of.target, WeightsOf(of, config.weight()),
                                            WeightsOf(of, config.pos_weight(), "positive_weight"),
                                            of.reduction());
}
Expr MseOf(const Operands& of) {
  return loss::MeanSquaredError(of.scores, of.target, of.reduction());
}
Expr L1Of(const Operands& of) { return loss::L1(of.scores, of.target, of.reduction()); }
Expr HuberOf(const Operands& of) {
  return loss::Huber(of.scores, of.target, of.config.huber().delta(), of.reduction());
}
Expr SmoothL1Of(const Operands& of) {
  return loss::SmoothL1(of.scores, of.target, of.config.smooth_l1().beta(), of.reduction());
}
Expr KlDivOf(const Operands& of) {
  return loss::KullbackLeibler(of.scores, of.target, of.config.kl_div().log_target(), !of.sums(),
                               of.reduction());
}
Expr HingeEmbeddingOf(const Operands& of) {
  return loss::HingeEmbedding(of.scores, of.target, of.config.hinge_embedding().margin(),
                              of.reduction());
}
Expr SoftMarginOf(const Operands& of) {
  return loss::SoftMargin(of.scores, of.target, of.reduction());
}

Expr MultiMarginOf(const Operands& of) {
  const LossConfig::MultiMargin& config = of.config.multi_margin();
  return loss::MultiMargin(of.scores, of.target, config.p(), config.margin(),
                           WeightsOf(of, config.weight()), of.reduction());
}
Expr MultiLabelMarginOf(const Operands& of) {
  return loss::MultiLabelMargin(of.scores, of.target, of.reduction());
}
Expr MultiLabelSoftMarginOf(const Operands& of) {
  const Expr weight = WeightsOf(of, of.config.multi_label_soft_margin().weight());
  return loss::MultiLabelSoftMargin(of.scores, of.target, weight, of.reduction());
}
Expr PoissonNllOf(const Operands& of) {
  const LossConfig::PoissonNLL& config = of.config.poisson_nll();
  return loss::PoissonNegativeLogLikelihood(of.scores, of.target, config.log_input(), config.eps(),
                                            of.reduction(), config.full());
}

Expr CtcOf(const Operands& of) {
  const LossConfig::CTC& config = of.config.ctc();
  ExprSink& sink = *of.scores.sink();
  const Type& type = of.scores.type();
  if (type.shape && type.shape->size() != 3) {
    sink.Fail(absl::InvalidArgumentError(
        absl::StrCat(of.path, ": ctc needs scores of rank 3, got ", type.ToString())));
    return {};
  }
  // Frames first, classes last.
  const Expr scores =
      config.class_axis() == 1 ? Transpose(of.scores, {2, 0, 1}) : Transpose(of.scores, {1, 0, 2});
  const Expr target = Cast(of.target, DType::kInt64);
  const Expr real = GreaterOrEqual(target, ScalarLike(target, 0));
  const Expr lengths =
      of.lengths.valid() ? of.lengths : ReduceSum(Cast(real, DType::kInt64), {1}, false);
  const Expr frames =
      of.frames.valid() ? of.frames : Expand(Shape(scores, 0, 1), Shape(scores, 1, 2));
  return loss::Ctc(LogSoftmax(scores), target, frames, lengths,
                   {config.blank(), config.zero_infinity(), of.reduction(),
                    /*per_label=*/!SumsLoss(of.config)});
}

// --- what the means divide by

Expr CountOf(const Expr& size) { return Cast(size, DType::kFloat64); }
Expr Elements(const Operands& of) { return CountOf(Size(of.scores)); }
Expr Rows(const Operands& of) { return CountOf(Squeeze(Shape(of.scores, 0, 1), {0})); }
Expr Classes(const Operands& of) {
  return loss::TargetWeight(of.scores, of.target, ClassOptionsOf(of));
}

struct Entry {
  LossConfig::KindCase kind;
  Expr (*make)(const Operands& of);
  Expr (*count)(const Operands& of);
  bool classes = false;
};
constexpr Entry kLosses[] = {
    {LossConfig::kBce, BceOf, Elements},
    {LossConfig::kBceWithLogits, BceWithLogitsOf, Elements},
    {LossConfig::kCrossEntropy, CrossEntropyOf, Classes, true},
    {LossConfig::kCtc, CtcOf, Rows},
    {LossConfig::kHingeEmbedding, HingeEmbeddingOf, Elements},
    {LossConfig::kHuber, HuberOf, Elements},
    {LossConfig::kKlDiv, KlDivOf, Rows},
    {LossConfig::kL1, L1Of, Elements},
    {LossConfig::kMse, MseOf, Elements},
    {LossConfig::kMultiLabelMargin, MultiLabelMarginOf, Rows},
    {LossConfig::kMultiLabelSoftMargin, MultiLabelSoftMarginOf, Rows},
    {LossConfig::kMultiMargin, MultiMarginOf, Rows, true},
    {LossConfig::kNll, NllOf, Classes, true},
    {LossConfig::kPoissonNll, PoissonNllOf, Elements},
    {LossConfig::kSmoothL1, SmoothL1Of, Elements},
    {LossConfig::kSoftMargin, SoftMarginOf, Elements},
};

const Entry* Find(LossConfig::KindCase kind) {
  const auto* entry = std::find_if(std::begin(kLosses), std::end(kLosses),
                                   [&](const Entry& each) { return each.kind == kind; });
  return entry == std::end(kLosses) ? nullptr : entry;
}

// Floats are probabilities of the classes, one for each score, and of cross_entropy alone.
absl::Status CheckClasses(const Operands& of, const Entry& entry) {
  const Type &scores = of.scores.type(), &target = of.target.type();
  if (!entry.classes || !IsFloating(target.dtype)) return absl::OkStatus();
  const bool probabilities = entry.kind == LossConfig::kCrossEntropy;
  if (probabilities &&
      (!scores.shape || !target.shape || scores.shape->size() == target.shape->size()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      of.path, ".target: '", of.config.target(), "' is ", target.ToString(), "; the loss '",
      KindName(of.config), "' needs integers, the classes",
      probabilities
          ? absl::StrCat(", or probabilities of the shape of the scores, ", scores.ToString())
          : "",
      "; give the field `element: INT64` (csv, jsonl), or cast the array"));
}

}  // namespace

bool HasClasses(const LossConfig& config) {
  const Entry* entry = Find(config.kind_case());
  return entry != nullptr && entry->classes;
}

std::string LossesOfClasses() {
  std::string kinds;
  for (const auto* field : KindsOf(*LossConfig::descriptor())) {
    const Entry* entry = Find(static_cast<LossConfig::KindCase>(field->number()));
    if (entry != nullptr && entry->classes)
      absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", field->name());
  }
  return kinds;
}

bool HasBinaryTargets(const LossConfig& config) {
  return config.has_bce() || config.has_bce_with_logits();
}

bool SumsLoss(const LossConfig& config) { return config.reduction() == LossConfig::SUM; }

int64_t ClassAxis(const LossConfig& config) {
  if (config.has_ctc()) return config.ctc().class_axis();
  if (config.has_multi_margin()) return config.multi_margin().class_axis();
  if (config.has_nll()) return config.nll().class_axis();
  return config.cross_entropy().class_axis();
}

int64_t IgnoredTarget(const LossConfig& config) {
  return config.has_nll() ? config.nll().ignore_index() : config.cross_entropy().ignore_index();
}

Expr PredictedClass(const LossConfig& config, const Expr& scores) {
  if (HasBinaryTargets(config))
    return Cast(Greater(scores, ScalarLike(scores, config.has_bce() ? 0.5 : 0.0)), DType::kInt64);
  const Type& type = scores.type();
  // Scores [classes] of one example.
  const int64_t axis = type.shape && type.shape->size() == 1 ? 0 : ClassAxis(config);
  return Op("ArgMax", {scores}, {{"axis", axis}, {"keepdims", int64_t{0}}});
}

namespace {

absl::StatusOr<const Entry*> EntryOf(const LossConfig& config) {
  const Entry* entry = Find(config.kind_case());
  if (entry != nullptr) return entry;
  return absl::InvalidArgumentError(
      absl::StrCat("loss: must name a kind, one of ", KindNames(*LossConfig::descriptor())));
}

absl::StatusOr<Operands> Prepare(const LossConfig& config, const LossOperands& operands,
                                 const Entry& entry) {
  Operands of{operands, config};
  ONWARD_RETURN_IF_ERROR(CheckClasses(of, entry));
  if (entry.classes && ClassAxis(config) == -1) {
    const loss::ClassRows rows = loss::RowsOfClasses(KindName(config), of.scores, of.target);
    of.scores = rows.scores;
    of.target = rows.target;
  }
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return of;
}

}  // namespace

absl::StatusOr<Expr> MakeLoss(const LossConfig& config, const LossOperands& operands) {
  ONWARD_ASSIGN_OR_RETURN(const Entry* entry, EntryOf(config));
  ONWARD_ASSIGN_OR_RETURN(const Operands of, Prepare(config, operands, *entry));
  const Expr loss = entry->make(of);
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return loss;
}

absl::StatusOr<LossParts> MakeLossParts(const LossConfig& config, const LossOperands& operands) {
  ONWARD_ASSIGN_OR_RETURN(const Entry* entry, EntryOf(config));
  ONWARD_ASSIGN_OR_RETURN(Operands of, Prepare(config, operands, *entry));
  of.parts = true;
  LossParts made{entry->make(of), {}};
  if (!SumsLoss(config)) made.count = entry->count(of);
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return made;
}

}  // namespace onward::training
