#include "kernels/cpu/loss_plan.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"
#include "kernels/cpu/elementwise.h"

namespace onward::kernels::cpu {
namespace {

enum class Reduction { kNone, kSum, kMean };

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

// `loop`, given labels [begin, end), returns the first bad one or -1.
absl::Status ForLabels(const RunContext& context, const LossPlan& plan, const TensorView& labels,
                       absl::FunctionRef<int64_t(int64_t begin, int64_t end)> loop) {
  const int64_t count = plan.batch * plan.positions;
  std::atomic<int64_t> bad{count};
  const int64_t grain = std::max<int64_t>(1, kMathGrain / std::max<int64_t>(1, plan.classes));
  context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    const int64_t found = loop(begin, end);
    if (found < 0) return;
    int64_t least = bad.load();
    while (found < least && !bad.compare_exchange_weak(least, found)) {
    }
  });
  if (bad == count) return absl::OkStatus();
  const int64_t label = ReadLabel(labels, bad);
  return WithBadElement(
      absl::InvalidArgumentError(absl::StrCat("label ", label, " at position ", bad.load(),
                                              " is out of range for ", plan.classes, " classes")),
      {bad, count, label});
}

class Loss : public Kernel {
 public:
  Loss(LossLoop loop, Reduction reduction, bool ignores, int64_t ignored)
      : loop_(loop), reduction_(reduction), ignores_(ignores), ignored_(ignored) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView scores = context.input_dims(0), labels = context.input_dims(1);
    auto* plan = context.NewState<LossPlan>();
    ONWARD_ASSIGN_OR_RETURN(*plan, PlanLoss(scores, labels));
    if (context.has_input(2) &&
        (context.input_dims(2).size() != 1 || context.input_dims(2)[0] != plan->classes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("weights have shape ", DimsString(context.input_dims(2)),
                       ", must have one element for each of ", plan->classes, " classes"));
    }
    context.SetOutput(0, reduction_ == Reduction::kNone ? labels : DimsView());
    if (context.has_output(1)) context.SetOutput(1, scores);
    context.SetScratch(2 * plan->batch * plan->positions * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const LossPlan& plan = context.state<LossPlan>();
    const int64_t count = plan.batch * plan.positions;
    double* scratch = context.scratch<double>();
    const LossData data = {context.input(0).data,
                           context.input(1),
                           context.has_input(2) ? context.input(2).data : nullptr,
                           context.has_output(1) ? context.output(1).data : nullptr,
                           scratch,
                           scratch + count,
                           ignores_,
                           ignored_};
    ONWARD_RETURN_IF_ERROR(ForLabels(context, plan, data.labels, [&](int64_t begin, int64_t end) {
      return loop_(plan, data, begin, end);
    }));
    StoreLoss(context.output(0), data, count);
    return absl::OkStatus();
  }

 private:
  void StoreLoss(const TensorView& out, const LossData& data, int64_t count) const {
    double sum = 0, weight = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += data.losses[i];
      weight += data.label_weights[i];
    }
    DispatchDType(FloatTypes(), out.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      T* to = out.as<T>();
      if (reduction_ == Reduction::kNone) {
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(static_cast<C>(data.losses[i]));
      } else {
        *to = static_cast<T>(static_cast<C>(reduction_ == Reduction::kSum ? sum : sum / weight));
      }
    });
  }

  LossLoop loop_;
  Reduction reduction_;
  bool ignores_;
  int64_t ignored_;
};

class LossGradient : public Kernel {
 public:
  explicit LossGradient(LossGradientLoop loop) : loop_(loop) {}

  absl::Status Bind(BindContext& context) const override {
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

  absl::Status Run(RunContext& context) const override {
    const LossPlan& plan = context.state<LossPlan>();
    const LossGradientData data = {context.input(0).data, context.input(1), context.input(2).data,
                                   context.output(0).data};
    return ForLabels(context, plan, data.labels,
                     [&](int64_t begin, int64_t end) { return loop_(plan, data, begin, end); });
  }

 private:
  LossGradientLoop loop_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeLossKernel(const NodeSpec& spec, LossLoop loop) {
  const std::string name = spec.attributes().String("reduction", "mean");
  Reduction reduction = Reduction::kMean;
  if (name == "none") {
    reduction = Reduction::kNone;
  } else if (name == "sum") {
    reduction = Reduction::kSum;
  } else if (name != "mean") {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction is '", name, "', not 'none', 'sum' or 'mean'"));
  }
  return std::make_unique<Loss>(loop, reduction, spec.attributes().Has("ignore_index"),
                                spec.attributes().Int("ignore_index", 0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLossGradientKernel(LossGradientLoop loop) {
  return std::make_unique<LossGradient>(loop);
}

}  // namespace onward::kernels::cpu
