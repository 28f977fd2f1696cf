// The steps of optimizers (graph/optimizers) that are one pass over a parameter and its state, in
// place.
#include "kernels/cpu/optimizer_steps.h"

#include <algorithm>

#include "kernels/bind/optimizer_steps.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/optimizer_steps.h"

namespace onward::kernels::cpu {

namespace {

constexpr int kMostSettings = 6;

class Step : public Kernel {
 public:
  Step(const StepLoops& loops, bool doubles, bool maximize)
      : loops_(loops), loop_(doubles ? loops.doubles : loops.floats), maximize_(maximize) {}

  absl::Status Bind(BindContext& context) const override {
    const auto bind = loops_.next_scalar == nullptr ? BindStep : BindStepWithScalar;
    return bind(context, loops_.states, loops_.settings);
  }

  absl::Status Run(RunContext& context) const override {
    StepElements e;
    e.maximize = maximize_;
    e.p = context.input(0).data;
    e.g = context.input(1).data;
    e.out = context.output(0).data;
    for (int i = 0; i < loops_.states; ++i) {
      e.states[i] = context.input(4 + i).data;
      e.next[i] = context.output(1 + i).data;
    }
    double settings[kMostSettings + 1] = {};
    std::copy_n(context.in<double>(2), loops_.settings, settings);
    if (loops_.next_scalar != nullptr)
      settings[loops_.settings] = *context.in<double>(4 + loops_.states);
    const auto step = static_cast<double>(*context.in<int64_t>(3));
    context.ParallelFor(context.input(0).num_elements(), kStepGrain,
                        [&](int64_t begin, int64_t end) { loop_(settings, step, e, begin, end); });
    if (loops_.next_scalar != nullptr)
      *context.out<double>(1 + loops_.states) = loops_.next_scalar(settings, step);
    return absl::OkStatus();
  }

 private:
  const StepLoops& loops_;
  StepLoop loop_;
  bool maximize_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeStep(const NodeSpec& spec) {
  const StepLoops& loops = kOptimizerStepPerTarget.For(TargetOf(spec))(StepRuleOf(spec));
  const int states = loops.states + (loops.next_scalar != nullptr ? 1 : 0);
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, states));
  return std::make_unique<Step>(loops, spec.input_dtype(0) == DType::kFloat64,
                                spec.attributes().Int("maximize", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AdadeltaStep", "adadelta_step", MakeStep, kVectorTargets},
    {"onward", "AdagradStep", "adagrad_step", MakeStep, kVectorTargets},
    {"onward", "AdamStep", "adam_step", MakeStep, kVectorTargets},
    {"onward", "LionStep", "lion_step", MakeStep, kVectorTargets},
    {"onward", "NAdamStep", "nadam_step", MakeStep, kVectorTargets},
    {"onward", "RAdamStep", "radam_step", MakeStep, kVectorTargets},
    {"onward", "RMSpropStep", "rmsprop_step", MakeStep, kVectorTargets},
    {"onward", "SgdStep", "sgd_step", MakeStep, kVectorTargets},
};

}  // namespace

KernelList OptimizerSteps() { return kKernels; }

}  // namespace onward::kernels::cpu
