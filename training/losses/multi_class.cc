// Margins between classes.
#include <limits>

#include "absl/strings/str_cat.h"
#include "training/losses/operands.h"
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

// Returns whether x is [batch, classes], which its sink keeps as an error else.
bool IsMatrix(const Expr& x, const char* what) {
  if (!x.valid()) return false;
  if (x.type().shape && x.type().shape->size() == 2) return true;
  x.sink()->Fail(absl::InvalidArgumentError(
      absl::StrCat(what, " needs scores [batch, classes], got ", x.type().ToString())));
  return false;
}

// int64[1]: how many classes there are.
Expr ClassesOf(const Expr& x) { return Shape(x, 1, 2); }

// Truth of [..., classes]: where the last axis is the class of `target`.
Expr IsClass(const Expr& target, const Expr& x) {
  const Expr zero = x.sink()->Scalar(0, DType::kInt64), one = x.sink()->Scalar(1, DType::kInt64);
  const Expr classes = expr::Op("Range", {zero, Squeeze(ClassesOf(x), {0}), one});
  return Equal(Unsqueeze(Cast(target, DType::kInt64), {-1}), classes);
}

}  // namespace

Expr MultiMargin(const Expr& x, const Expr& target, int64_t power, double margin,
                 const Expr& weight, Reduction reduction) {
  if (!IsMatrix(x, "multi_margin")) return {};
  if (power != 1 && power != 2) {
    x.sink()->Fail(absl::InvalidArgumentError(
        absl::StrCat("the power of multi_margin must be 1 or 2, got ", power)));
    return {};
  }
  if (!IsInteger("multi_margin", target, "the target")) return {};
  const Expr index = Cast(ClassTarget("multi_margin", x, target, 1), DType::kInt64);
  // Refuses a class that is negative, which GatherElements would count from the end.
  const Expr right = -Unsqueeze(
      expr::Op("NegativeLogLikelihoodLoss", {x, index}, {{"reduction", std::string("none")}}), {1});
  Expr behind = AtLeast(x - right + margin, 0);
  if (power == 2) behind = behind * behind;
  if (weight.valid())
    behind =
        behind * Unsqueeze(Gather(OnePer("multi_margin", x, 1, weight, "the weight"), index), {1});
  const Expr others = Where(IsClass(target, x), ScalarLike(x, 0), behind);
  return Reduced(ReduceMean(others, {1}, false), reduction);
}

Expr MultiLabelMargin(const Expr& x, const Expr& target, Reduction reduction) {
  if (!IsMatrix(x, "multi_label_margin")) return {};
  if (!IsInteger("multi_label_margin", target, "the target")) return {};
  const Expr labels = Cast(RowPer("multi_label_margin", x, target), DType::kInt64);
  const Expr zero = ScalarLike(labels, 0);
  // Labels before the first negative one.
  const Expr ended = expr::Op(
      "CumSum", {Cast(Less(labels, zero), DType::kInt64), x.sink()->Scalar(1, DType::kInt64)});
  const Expr counts = Equal(ended, zero);
  const Expr label = Where(counts, labels, zero);
  const Expr right = And(IsClass(label, x), Unsqueeze(counts, {2}));  // [batch, listed, classes]
  const Expr is_right = Greater(ReduceSum(Cast(right, DType::kInt64), {1}, false), zero);
  const Expr scores = expr::Op("GatherElements", {x, label}, {{"axis", int64_t{1}}});
  const Expr behind = AtLeast(Unsqueeze(x, {1}) - Unsqueeze(scores, {2}) + 1.0, 0);
  const Expr pairs = And(Unsqueeze(counts, {2}), Unsqueeze(Not(is_right), {1}));
  const Expr sum = ReduceSum(Where(pairs, behind, ScalarLike(x, 0)), {1, 2}, false);
  return Reduced(sum / Squeeze(Cast(ClassesOf(x), x.dtype()), {0}), reduction);
}

Expr MultiLabelSoftMargin(const Expr& x, const Expr& target, const Expr& weight,
                          Reduction reduction) {
  constexpr char kName[] = "multi_label_soft_margin";
  const Expr each = BinaryCrossEntropyWithLogits(x, SameShape(kName, x, target),
                                                 WeightOf(kName, x, weight), {}, Reduction::kNone);
  return Reduced(ReduceMean(each, {-1}, false), reduction);
}

}  // namespace onward::loss
