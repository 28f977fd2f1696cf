#include "kernels/cpu/loss_plan.h"

#include <algorithm>
#include <atomic>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"
#include "kernels/cpu/elementwise.h"

namespace onward::kernels::cpu {
namespace {

// `loop`, given labels [begin, end), returns the first bad one or -1.
absl::Status ForLabels(const RunContext& context, const LossPlan& plan, const TensorView& labels,
                       absl::FunctionRef<int64_t(int64_t begin, int64_t end)> loop) {
  const int64_t count = plan.labels();
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
  Loss(LossLoop loop, const LossAttributes& attributes) : loop_(loop), attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    return BindLoss(context, attributes_.reduction);
  }

  absl::Status Run(RunContext& context) const override {
    const LossPlan& plan = context.state<LossPlan>();
    const int64_t count = plan.labels();
    double* scratch = context.scratch<double>();
    const LossData data = {context.input(0).data,
                           context.input(1),
                           context.has_input(2) ? context.input(2).data : nullptr,
                           context.has_output(1) ? context.output(1).data : nullptr,
                           scratch,
                           scratch + count,
                           attributes_.ignores,
                           attributes_.ignored};
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
      if (attributes_.reduction == LossReduction::kNone) {
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(static_cast<C>(data.losses[i]));
      } else {
        *to = static_cast<T>(
            static_cast<C>(attributes_.reduction == LossReduction::kSum ? sum : sum / weight));
      }
    });
  }

  LossLoop loop_;
  LossAttributes attributes_;
};

class LossGradient : public Kernel {
 public:
  explicit LossGradient(LossGradientLoop loop) : loop_(loop) {}

  absl::Status Bind(BindContext& context) const override { return BindLossGradient(context); }

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
  ONWARD_ASSIGN_OR_RETURN(const LossAttributes attributes, LossAttributes::Parse(spec));
  return std::make_unique<Loss>(loop, attributes);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLossGradientKernel(LossGradientLoop loop) {
  return std::make_unique<LossGradient>(loop);
}

}  // namespace onward::kernels::cpu
