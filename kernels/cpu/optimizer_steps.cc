// The steps of optimizers (graph/optimizers) that are one pass over a parameter and its state, in
// place.
#include "kernels/cpu/optimizer_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/optimizer_steps.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {

absl::Status CheckStep(const NodeSpec& spec, int states) {
  bool whole = spec.num_inputs() == 4 + states && spec.num_outputs() == 1 + states;
  for (int i = 0; whole && i < spec.num_inputs(); ++i) whole = spec.has_input(i);
  for (int i = 0; whole && i < spec.num_outputs(); ++i) whole = spec.has_output(i);
  if (!whole) return absl::UnimplementedError("some of the state is left out");
  const DType dtype = spec.input_dtype(0);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64)
    return absl::UnimplementedError("float32 and float64 only");
  return absl::OkStatus();
}

absl::Status CheckStepDims(const BindContext& context, int input, DimsView dims) {
  if (context.input_dims(input) == dims) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " has shape ",
                                                 DimsString(context.input_dims(input)),
                                                 ", must have ", DimsString(dims)));
}

absl::Status CheckSettings(const BindContext& context, int settings) {
  if (NumElements(context.input_dims(2)) == settings && NumElements(context.input_dims(3)) == 1)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("settings have shape ", DimsString(context.input_dims(2)), " and the step ",
                   DimsString(context.input_dims(3)), ", must be [", settings, "] and []"));
}

absl::Status BindStep(BindContext& context, int states, int settings) {
  const DimsView dims = context.input_dims(0);
  ONWARD_RETURN_IF_ERROR(CheckStepDims(context, 1, dims));
  for (int i = 0; i < 1 + states; ++i) {
    const int input = i == 0 ? 0 : 3 + i;
    ONWARD_RETURN_IF_ERROR(CheckStepDims(context, input, dims));
    context.SetOutput(i, dims);
    context.AllowInPlace(i, input);
  }
  return CheckSettings(context, settings);
}

namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

constexpr int kMostSettings = 6;

class Step : public Kernel {
 public:
  Step(const StepLoops& loops, bool doubles, bool maximize)
      : loops_(loops), loop_(doubles ? loops.doubles : loops.floats), maximize_(maximize) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindStep(context, loops_.states, loops_.settings));
    if (loops_.next_scalar != nullptr) {
      const int scalar = loops_.states;
      if (!context.input_dims(4 + scalar).empty())
        return absl::InvalidArgumentError(absl::StrCat("input ", 4 + scalar, " has shape ",
                                                       DimsString(context.input_dims(4 + scalar)),
                                                       ", must be a scalar"));
      context.SetOutput(1 + scalar, {});
      context.AllowInPlace(1 + scalar, 4 + scalar);
    }
    return absl::OkStatus();
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

Made MakeStep(const NodeSpec& spec, StepRule rule) {
  const StepLoops& loops = kOptimizerStepPerTarget.For(TargetOf(spec))(rule);
  const int states = loops.states + (loops.next_scalar != nullptr ? 1 : 0);
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, states));
  return std::make_unique<Step>(loops, spec.input_dtype(0) == DType::kFloat64,
                                spec.attributes().Int("maximize", 0) != 0);
}

Made MakeAdagrad(const NodeSpec& spec) { return MakeStep(spec, StepRule::kAdagrad); }

Made MakeAdam(const NodeSpec& spec) {
  const bool largest = spec.num_inputs() > 6;
  if (spec.attributes().Int("decoupled", 0) != 0) {
    return MakeStep(spec, largest ? StepRule::kAdamDecoupledLargest : StepRule::kAdamDecoupled);
  }
  return MakeStep(spec, largest ? StepRule::kAdamLargest : StepRule::kAdam);
}

Made MakeLion(const NodeSpec& spec) { return MakeStep(spec, StepRule::kLion); }

Made MakeAdadelta(const NodeSpec& spec) { return MakeStep(spec, StepRule::kAdadelta); }

Made MakeNAdam(const NodeSpec& spec) {
  const bool decoupled = spec.attributes().Int("decoupled", 0) != 0;
  return MakeStep(spec, decoupled ? StepRule::kNAdamDecoupled : StepRule::kNAdam);
}

Made MakeRAdam(const NodeSpec& spec) {
  const bool decoupled = spec.attributes().Int("decoupled", 0) != 0;
  return MakeStep(spec, decoupled ? StepRule::kRAdamDecoupled : StepRule::kRAdam);
}

Made MakeRMSprop(const NodeSpec& spec) {
  if (spec.num_inputs() < 6) return MakeStep(spec, StepRule::kRMSprop);
  if (spec.num_inputs() < 7) return MakeStep(spec, StepRule::kRMSpropMomentum);
  return MakeStep(spec, StepRule::kRMSpropCenteredMomentum);
}

Made MakeSgd(const NodeSpec& spec) {
  if (spec.num_inputs() < 5) return MakeStep(spec, StepRule::kSgd);
  const bool nesterov = spec.attributes().Int("nesterov", 0) != 0;
  return MakeStep(spec, nesterov ? StepRule::kSgdNesterov : StepRule::kSgdMomentum);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AdadeltaStep", "adadelta_step", MakeAdadelta, kVectorTargets},
    {"onward", "AdagradStep", "adagrad_step", MakeAdagrad, kVectorTargets},
    {"onward", "AdamStep", "adam_step", MakeAdam, kVectorTargets},
    {"onward", "LionStep", "lion_step", MakeLion, kVectorTargets},
    {"onward", "NAdamStep", "nadam_step", MakeNAdam, kVectorTargets},
    {"onward", "RAdamStep", "radam_step", MakeRAdam, kVectorTargets},
    {"onward", "RMSpropStep", "rmsprop_step", MakeRMSprop, kVectorTargets},
    {"onward", "SgdStep", "sgd_step", MakeSgd, kVectorTargets},
};

}  // namespace

KernelList OptimizerSteps() { return kKernels; }

}  // namespace onward::kernels::cpu
