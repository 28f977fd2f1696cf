// onward.LambStep (graph/optimizers/lamb.cc) in two passes, in place: the moments and the norms,
// then the parameter.
#include <cmath>

#include "kernels/bind/optimizer_steps.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/optimizer_steps.h"
#include "kernels/cpu/simd/scaled_steps.h"

namespace onward::kernels::cpu {
namespace {

template <typename T>
LambNumbers<T> NumbersOf(const double* settings, double step, bool maximize) {
  LambNumbers<T> n;
  n.first_weight = static_cast<T>(1 - settings[AdamSettings::kBeta1]);
  n.beta2 = static_cast<T>(settings[AdamSettings::kBeta2]);
  n.second_weight = static_cast<T>(1 - settings[AdamSettings::kBeta2]);
  n.epsilon = static_cast<T>(settings[AdamSettings::kEps]);
  n.decay = static_cast<T>(settings[AdamSettings::kWeightDecay]);
  n.by_first = static_cast<T>(1 / (1 - std::pow(settings[AdamSettings::kBeta1], step)));
  n.by_second = static_cast<T>(1 / (1 - std::pow(settings[AdamSettings::kBeta2], step)));
  n.sign = maximize ? T(-1) : T(1);
  return n;
}

template <typename T>
class LambStep : public Kernel {
 public:
  LambStep(const ScaledStepLoops<T>& loops, bool maximize) : loops_(loops), maximize_(maximize) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindStep(context, 2, AdamSettings::kCount));
    context.SetScratch(Blocks(NumElements(context.input_dims(0))) *
                       static_cast<int64_t>(sizeof(StepSums)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const double* settings = context.in<double>(2);
    const auto n = NumbersOf<T>(settings, static_cast<double>(*context.in<int64_t>(3)), maximize_);
    const LambArrays<T> a = {context.in<T>(0), context.in<T>(1),  context.in<T>(4),
                             context.in<T>(5), context.out<T>(0), context.out<T>(1),
                             context.out<T>(2)};
    const int64_t count = context.input(0).num_elements(), blocks = Blocks(count);
    auto* sums = context.scratch<StepSums>();
    const auto end_of = [&](int64_t block) { return std::min(count, (block + 1) * kStepGrain); };
    context.ParallelFor(blocks, 1, [&](int64_t block, int64_t end) {
      for (; block < end; ++block)
        sums[block] = loops_.lamb_moments(n, a, block * kStepGrain, end_of(block));
    });
    StepSums all;
    for (int64_t i = 0; i < blocks; ++i) {
      all.parameter += sums[i].parameter;
      all.change += sums[i].change;
    }
    const bool both = all.parameter > 0 && all.change > 0;
    const double trust = both ? std::sqrt(all.parameter) / std::sqrt(all.change) : 1.0;
    const T rate = static_cast<T>(settings[AdamSettings::kLr]) * static_cast<T>(trust);
    // Backwards: the last blocks are still in the caches.
    context.ParallelFor(blocks, 1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const int64_t block = blocks - 1 - i;
        loops_.lamb_apply(n, rate, a, block * kStepGrain, end_of(block));
      }
    });
    return absl::OkStatus();
  }

 private:
  static int64_t Blocks(int64_t count) { return CeilDiv(count, kStepGrain); }

  const ScaledStepLoops<T>& loops_;
  bool maximize_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLamb(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, 2));
  const bool maximize = spec.attributes().Int("maximize", 0) != 0;
  if (spec.input_dtype(0) == DType::kFloat32) {
    return std::make_unique<LambStep<float>>(kFloatStepsPerTarget.For(TargetOf(spec))(), maximize);
  }
  return std::make_unique<LambStep<double>>(kDoubleStepsPerTarget.For(TargetOf(spec))(), maximize);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "LambStep", "lamb_step", MakeLamb, kVectorTargets},
};

}  // namespace

KernelList LambKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
