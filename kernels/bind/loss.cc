#include "kernels/bind/loss.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

absl::StatusOr<LossPlan> PlanLoss(DimsView scores, DimsView labels) {
  if (scores.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("scores have shape ", DimsString(scores), ", must be [batch, classes, ...]"));
  }
  Dims expected(scores.begin(), scores.end());
  expected.erase(expected.begin() + 1);
  if (labels != DimsView(expected)) {
    return absl::InvalidArgumentError(absl::StrCat("labels have shape ", DimsString(labels),
                                                   ", must have ", DimsString(expected)));
  }
  return LossPlan{scores[0], scores[1],
                  NumElements(scores, 2, static_cast<int64_t>(scores.size()))};
}

}  // namespace

absl::StatusOr<LossAttributes> LossAttributes::Parse(const NodeSpec& spec) {
  LossAttributes result;
  const std::string name = spec.attributes().String("reduction", "mean");
  if (name == "none") {
    result.reduction = LossReduction::kNone;
  } else if (name == "sum") {
    result.reduction = LossReduction::kSum;
  } else if (name != "mean") {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction is '", name, "', not 'none', 'sum' or 'mean'"));
  }
  result.ignores = spec.attributes().Has("ignore_index");
  result.ignored = spec.attributes().Int("ignore_index", 0);
  return result;
}

absl::Status BindLoss(BindContext& context, LossReduction reduction) {
  const DimsView scores = context.input_dims(0), labels = context.input_dims(1);
  auto* plan = context.NewState<LossPlan>();
  ONWARD_ASSIGN_OR_RETURN(*plan, PlanLoss(scores, labels));
  if (context.has_input(2) &&
      (context.input_dims(2).size() != 1 || context.input_dims(2)[0] != plan->classes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights have shape ", DimsString(context.input_dims(2)),
                     ", must have one element for each of ", plan->classes, " classes"));
  }
  context.SetOutput(0, reduction == LossReduction::kNone ? labels : DimsView());
  if (context.has_output(1)) context.SetOutput(1, scores);
  context.SetScratch(2 * plan->labels() * static_cast<int64_t>(sizeof(double)));
  return absl::OkStatus();
}

absl::Status BindLossGradient(BindContext& context) {
  auto* plan = context.NewState<LossPlan>();
  ONWARD_ASSIGN_OR_RETURN(*plan, PlanLoss(context.input_dims(0), context.input_dims(1)));
  if (context.input_dims(2) != context.input_dims(1)) {
    return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(2)),
                                                   ", the labels ",
                                                   DimsString(context.input_dims(1))));
  }
  context.SetOutput(0, context.input_dims(0));
  context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels
