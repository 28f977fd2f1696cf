#include "training/config/make_loss.h"

#include "absl/strings/str_cat.h"
#include "graph/base/dtype.h"
#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "training/losses/loss.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT: reads as formulas

struct Operands : LossOperands {
  const LossConfig& config;
  bool parts = false;  // the sum of what the mean is over
  bool sums() const { return parts || config.sum(); }
  loss::Reduction reduction() const {
    return sums() ? loss::Reduction::kSum : loss::Reduction::kMean;
  }
};

// A margin has the default 1.
double MarginOf(const Operands& of) { return of.config.has_margin() ? of.config.margin() : 1; }

// None where the config has none.
Expr WeightsOf(const Operands& of, const google::protobuf::RepeatedField<double>& numbers,
               const char* name) {
  if (numbers.empty()) return {};
  Tensor weights(DType::kFloat64, {numbers.size()});
  std::copy(numbers.begin(), numbers.end(), weights.mutable_data<double>());
  return Cast(of.scores.sink()->Constant(std::move(weights), name), of.scores.dtype());
}

loss::ClassOptions ClassOptionsOf(const Operands& of) {
  loss::ClassOptions options;
  options.ignore_index = of.config.ignore_index();
  options.label_smoothing = of.config.label_smoothing();
  options.reduction = of.reduction();
  options.weight = WeightsOf(of, of.config.weight(), "class_weight");
  return options;
}

Expr CrossEntropyOf(const Operands& of) {
  return loss::CrossEntropy(of.scores, of.target, ClassOptionsOf(of));
}
Expr NllOf(const Operands& of) {
  return loss::NegativeLogLikelihood(of.scores, of.target, ClassOptionsOf(of));
}
Expr BceOf(const Operands& of) {
  return loss::BinaryCrossEntropy(
      of.scores, of.target, WeightsOf(of, of.config.weight(), "class_weight"), of.reduction());
}
Expr BceWithLogitsOf(const Operands& of) {
  return loss::BinaryCrossEntropyWithLogits(
      of.scores, of.target, WeightsOf(of, of.config.weight(), "class_weight"),
      WeightsOf(of, of.config.positive_weight(), "positive_weight"), of.reduction());
}
Expr MseOf(const Operands& of) {
  return loss::MeanSquaredError(of.scores, of.target, of.reduction());
}
Expr L1Of(const Operands& of) { return loss::L1(of.scores, of.target, of.reduction()); }
Expr HuberOf(const Operands& of) {
  return loss::Huber(of.scores, of.target, of.config.delta(), of.reduction());
}
Expr SmoothL1Of(const Operands& of) {
  return loss::SmoothL1(of.scores, of.target, of.config.delta(), of.reduction());
}
Expr KlOf(const Operands& of) {
  return loss::KullbackLeibler(of.scores, of.target, false, !of.sums(), of.reduction());
}
Expr HingeEmbeddingOf(const Operands& of) {
  return loss::HingeEmbedding(of.scores, of.target, MarginOf(of), of.reduction());
}
Expr SoftMarginOf(const Operands& of) {
  return loss::SoftMargin(of.scores, of.target, of.reduction());
}

Expr MultiMarginOf(const Operands& of) {
  return loss::MultiMargin(of.scores, of.target, 1, MarginOf(of), ClassOptionsOf(of).weight,
                           of.reduction());
}
Expr MultiLabelMarginOf(const Operands& of) {
  return loss::MultiLabelMargin(of.scores, of.target, of.reduction());
}
Expr MultiLabelSoftMarginOf(const Operands& of) {
  return loss::MultiLabelSoftMargin(of.scores, of.target, ClassOptionsOf(of).weight,
                                    of.reduction());
}
Expr PoissonOf(const Operands& of) {
  return loss::PoissonNegativeLogLikelihood(of.scores, of.target, true, 1e-8, of.reduction());
}

Expr CtcOf(const Operands& of) {
  ExprSink& sink = *of.scores.sink();
  const Type& type = of.scores.type();
  if (type.shape && type.shape->size() != 3) {
    sink.Fail(absl::InvalidArgumentError(
        absl::StrCat("loss: ctc is of scores with three axes, not of ", type.ToString())));
    return {};
  }
  // Frames first, classes last.
  const Expr scores = of.config.class_axis() == 1 ? Transpose(of.scores, {2, 0, 1})
                                                  : Transpose(of.scores, {1, 0, 2});
  const Expr target = Cast(of.target, DType::kInt64);
  const Expr real = GreaterOrEqual(target, ScalarLike(target, 0));
  const Expr lengths =
      of.lengths.valid() ? of.lengths : ReduceSum(Cast(real, DType::kInt64), {1}, false);
  const Expr frames =
      of.frames.valid() ? of.frames : Expand(Shape(scores, 0, 1), Shape(scores, 1, 2));
  return loss::Ctc(LogSoftmax(scores), target, frames, lengths,
                   {of.config.blank(), of.config.zero_infinity(), of.reduction(),
                    /*per_label=*/!of.config.sum()});
}

// --- what the means divide by

Expr CountOf(const Expr& size) { return Cast(size, DType::kFloat64); }
Expr Elements(const Operands& of) { return CountOf(Size(of.scores)); }
Expr Rows(const Operands& of) { return CountOf(Squeeze(Shape(of.scores, 0, 1), {0})); }
Expr Classes(const Operands& of) {
  return loss::TargetWeight(of.scores, of.target, ClassOptionsOf(of));
}

// Settings that only some losses have.
enum Setting : unsigned {
  kWeight = 1,
  kSmoothing = 2,
  kIgnored = 4,
  kDelta = 8,
  kMargin = 16,
  kPositive = 32,
  kFrames = 64,  // and what else is of ctc
};

struct Entry {
  std::string_view kind;
  Expr (*make)(const Operands& of);
  Expr (*count)(const Operands& of);
  unsigned settings = 0;
  bool classes = false;
};
constexpr Entry kLosses[] = {
    {"bce", BceOf, Elements, kWeight},
    {"bce_with_logits", BceWithLogitsOf, Elements, kWeight | kPositive},
    {"cross_entropy", CrossEntropyOf, Classes, kWeight | kSmoothing | kIgnored, true},
    {"ctc", CtcOf, Rows, kFrames},
    {"hinge_embedding", HingeEmbeddingOf, Elements, kMargin},
    {"huber", HuberOf, Elements, kDelta},
    {"kl", KlOf, Rows},
    {"l1", L1Of, Elements},
    {"mse", MseOf, Elements},
    {"multi_label_margin", MultiLabelMarginOf, Rows},
    {"multi_label_soft_margin", MultiLabelSoftMarginOf, Rows, kWeight},
    {"multi_margin", MultiMarginOf, Rows, kWeight | kMargin, true},
    {"nll", NllOf, Classes, kWeight | kIgnored, true},
    {"poisson", PoissonOf, Elements},
    {"smooth_l1", SmoothL1Of, Elements, kDelta},
    {"soft_margin", SoftMarginOf, Elements},
};

const Entry* Find(const LossConfig& config) {
  for (const Entry& entry : kLosses) {
    if (entry.kind == config.kind()) return &entry;
  }
  return nullptr;
}

// A setting that the loss would not look at is a mistake.
absl::Status CheckSettings(const LossConfig& config, const Entry& entry) {
  const struct {
    const char* field;
    bool given;
    unsigned setting;
  } fields[] = {{"weight", config.weight_size() > 0, kWeight},
                {"label_smoothing", config.has_label_smoothing(), kSmoothing},
                {"ignore_index", config.has_ignore_index(), kIgnored},
                {"delta", config.has_delta(), kDelta},
                {"margin", config.has_margin(), kMargin},
                {"positive_weight", config.positive_weight_size() > 0, kPositive},
                {"frames", config.has_frames(), kFrames},
                {"lengths", config.has_lengths(), kFrames},
                {"blank", config.has_blank(), kFrames},
                {"zero_infinity", config.has_zero_infinity(), kFrames}};
  for (const auto& each : fields) {
    if (!each.given || (entry.settings & each.setting) != 0) continue;
    std::string having;
    for (const Entry& other : kLosses) {
      if ((other.settings & each.setting) != 0)
        absl::StrAppend(&having, having.empty() ? "" : ", ", std::string(other.kind));
    }
    return absl::InvalidArgumentError(absl::StrCat("loss.", each.field, ": the loss '",
                                                   config.kind(), "' has none; ", having, " have"));
  }
  return absl::OkStatus();
}

// Floats are probabilities of the classes, one for each score, and of cross_entropy alone.
absl::Status CheckClasses(const Operands& of, const Entry& entry) {
  const Type &scores = of.scores.type(), &target = of.target.type();
  if (!entry.classes || !IsFloating(target.dtype)) return absl::OkStatus();
  const bool probabilities = entry.kind == "cross_entropy";
  if (probabilities &&
      (!scores.shape || !target.shape || scores.shape->size() == target.shape->size()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "loss.target: '", of.config.target(), "' is ", target.ToString(), "; the loss '",
      of.config.kind(), "' needs integers, the classes",
      probabilities
          ? absl::StrCat(", or probabilities of the shape of the scores, ", scores.ToString())
          : "",
      "; give the field `element: INT64` (csv, jsonl), or cast the array"));
}

}  // namespace

bool HasClasses(const LossConfig& config) {
  const Entry* entry = Find(config);
  return entry != nullptr && entry->classes;
}

std::string LossesOfClasses() {
  std::string kinds;
  for (const Entry& entry : kLosses) {
    if (entry.classes) absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", std::string(entry.kind));
  }
  return kinds;
}

Expr PredictedClass(const LossConfig& config, const Expr& scores) {
  const Type& type = scores.type();
  // Scores [classes] of one example.
  const int64_t axis = type.shape && type.shape->size() == 1 ? 0 : config.class_axis();
  return Op("ArgMax", {scores}, {{"axis", axis}, {"keepdims", int64_t{0}}});
}

namespace {

absl::StatusOr<const Entry*> Check(const LossConfig& config) {
  const Entry* entry = Find(config);
  if (entry == nullptr) {
    std::string known;
    for (const Entry& each : kLosses) absl::StrAppend(&known, std::string(each.kind), ", ");
    return absl::InvalidArgumentError(
        absl::StrCat("there is no loss '", config.kind(), "'; there are ", known, "output"));
  }
  ONWARD_RETURN_IF_ERROR(CheckSettings(config, *entry));
  if (config.class_axis() != 1 && config.class_axis() != -1)
    return absl::InvalidArgumentError(
        absl::StrCat("loss.class_axis is 1 or -1, not ", config.class_axis()));
  return entry;
}

absl::StatusOr<Operands> Prepare(const LossConfig& config, const LossOperands& operands,
                                 const Entry& entry) {
  Operands of{operands, config};
  ONWARD_RETURN_IF_ERROR(CheckClasses(of, entry));
  if (entry.classes && config.class_axis() == -1) {
    const loss::ClassRows rows = loss::RowsOfClasses(std::string(entry.kind), of.scores, of.target);
    of.scores = rows.scores;
    of.target = rows.target;
  }
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return of;
}

}  // namespace

absl::StatusOr<Expr> MakeLoss(const LossConfig& config, const LossOperands& operands) {
  ONWARD_ASSIGN_OR_RETURN(const Entry* entry, Check(config));
  ONWARD_ASSIGN_OR_RETURN(const Operands of, Prepare(config, operands, *entry));
  const Expr loss = entry->make(of);
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return loss;
}

absl::StatusOr<LossParts> MakeLossParts(const LossConfig& config, const LossOperands& operands) {
  ONWARD_ASSIGN_OR_RETURN(const Entry* entry, Check(config));
  ONWARD_ASSIGN_OR_RETURN(Operands of, Prepare(config, operands, *entry));
  of.parts = true;
  LossParts made{entry->make(of), {}};
  if (!config.sum()) made.count = entry->count(of);
  ONWARD_RETURN_IF_ERROR(operands.scores.sink()->status());
  return made;
}

}  // namespace onward
