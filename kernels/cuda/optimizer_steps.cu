// The steps of optimizers that are one pass over a parameter and its state, in place. Settings and
// the number of the step are read on the device, so that a recorded step follows them.
#include <algorithm>
#include <array>
#include <new>

#include "kernels/bind/optimizer_steps.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"

#define ONWARD_STEP_RULES cuda
#include "kernels/optimizer_steps_inl.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostStates = 3;

// Outputs may be their inputs. `scalar` is null where the rule has no scalar state.
template <typename T>
struct StepOperands {
  const T *p, *g, *states[kMostStates];
  T *out, *next[kMostStates];
  const double *settings, *scalar;
  const int64_t* step;
  int64_t count;
  bool maximize;
};

template <typename Rule, typename T>
__device__ void ReadSettings(const StepOperands<T>& o, double* settings) {
  for (int i = 0; i < Rule::kSettings; ++i) settings[i] = o.settings[i];
  if (o.scalar != nullptr) settings[Rule::kSettings] = *o.scalar;
}

// Elements [i, i + kCount), which lie where a pack may lie.
template <int kCount, typename Rule, typename T, typename Numbers>
__device__ void StepSome(const StepOperands<T>& o, const Numbers& numbers, int64_t i) {
  Pack<T, kCount> p = LoadPack<kCount>(o.p + i);
  const Pack<T, kCount> g = LoadPack<kCount>(o.g + i);
  Pack<T, kCount> states[Rule::kStates + 1];
  for (int k = 0; k < Rule::kStates; ++k) states[k] = LoadPack<kCount>(o.states[k] + i);
  for (int j = 0; j < kCount; ++j) {
    T state[Rule::kStates + 1];
    for (int k = 0; k < Rule::kStates; ++k) state[k] = states[k].elements[j];
    const T gradient = o.maximize ? -g.elements[j] : g.elements[j];
    p.elements[j] = numbers.Next(p.elements[j], gradient, state);
    for (int k = 0; k < Rule::kStates; ++k) states[k].elements[j] = state[k];
  }
  StorePack(p, o.out + i);
  for (int k = 0; k < Rule::kStates; ++k) StorePack(states[k], o.next[k] + i);
}

// The first `packs` packs, then the elements behind them.
template <typename Rule, typename T>
__global__ void StepLoop(StepOperands<T> o, int64_t packs) {
  using Numbers = typename Rule::template Numbers<T>;
  __shared__ double storage[(sizeof(Numbers) + sizeof(double) - 1) / sizeof(double)];
  if (threadIdx.x == 0) {
    double settings[Rule::kSettings + 1];
    ReadSettings<Rule>(o, settings);
    new (storage) Numbers(settings, static_cast<double>(*o.step));
  }
  __syncthreads();
  const Numbers numbers = *std::launder(reinterpret_cast<const Numbers*>(storage));
  constexpr int kPack = kPackOf<T>;
  for (int64_t i = GlobalIndex(); i < packs; i += GlobalSize())
    StepSome<kPack, Rule>(o, numbers, i * kPack);
  for (int64_t i = packs * kPack + GlobalIndex(); i < o.count; i += GlobalSize())
    StepSome<1, Rule>(o, numbers, i);
}

// Behind all blocks of the step, which read the scalar that it may overwrite.
template <typename Rule, typename T>
__global__ void ScalarStep(StepOperands<T> o, double* next) {
  double settings[Rule::kSettings + 1];
  ReadSettings<Rule>(o, settings);
  *next = Rule::NextScalar(settings, static_cast<double>(*o.step));
}

template <typename T>
StepOperands<T> OperandsOf(const RunContext& context, int states, bool maximize) {
  StepOperands<T> o = {};
  o.p = context.in<T>(0), o.g = context.in<T>(1), o.out = context.out<T>(0);
  o.settings = context.in<double>(2), o.step = context.in<int64_t>(3);
  for (int k = 0; k < states; ++k)
    o.states[k] = context.in<T>(4 + k), o.next[k] = context.out<T>(1 + k);
  o.count = context.input(0).num_elements();
  o.maximize = maximize;
  return o;
}

template <typename T>
bool IsPackAligned(const StepOperands<T>& o, int states) {
  bool aligned = ArePackAligned({o.p, o.g, o.out});
  for (int k = 0; k < states; ++k) aligned = aligned && ArePackAligned({o.states[k], o.next[k]});
  return aligned;
}

template <typename Rule, typename T>
absl::Status LaunchStep(RunContext& context, bool maximize) {
  StepOperands<T> o = OperandsOf<T>(context, Rule::kStates, maximize);
  constexpr bool kHasScalar = requires { Rule::NextScalar; };
  if constexpr (kHasScalar) o.scalar = context.in<double>(4 + Rule::kStates);
  if (o.count > 0) {
    const int64_t packs = IsPackAligned(o, Rule::kStates) ? o.count / kPackOf<T> : 0;
    ONWARD_RETURN_IF_ERROR(Launch(StepLoop<Rule, T>, Blocks(packs > 0 ? packs : o.count), kThreads,
                                  0, StreamOf(context), o, packs));
  }
  if constexpr (kHasScalar) {
    return Launch(ScalarStep<Rule, T>, 1, 1, 0, StreamOf(context), o,
                  context.out<double>(1 + Rule::kStates));
  }
  return absl::OkStatus();
}

struct StepLaunches {
  int settings, states;
  bool has_scalar;
  absl::Status (*floats)(RunContext&, bool maximize);
  absl::Status (*doubles)(RunContext&, bool maximize);
};

template <typename Rule>
constexpr StepLaunches LaunchesOf() {
  return {Rule::kSettings, Rule::kStates, requires {Rule::NextScalar;
}
, LaunchStep<Rule, float>, LaunchStep<Rule, double>
};  // namespace
}  // namespace onward::kernels::cuda

template <typename... Rules>
constexpr std::array<StepLaunches, sizeof...(Rules)> LaunchesOfAll(StepRuleList<Rules...>) {
  return {LaunchesOf<Rules>()...};
}

const StepLaunches& LaunchesOf(StepRule rule) {
  static constexpr auto kLaunches = LaunchesOfAll(StepRules());
  return kLaunches[static_cast<size_t>(rule)];
}

class Step : public Kernel {
 public:
  Step(const StepLaunches& launches, bool doubles, bool maximize)
      : launches_(launches), doubles_(doubles), maximize_(maximize) {}
  absl::Status Bind(BindContext& context) const override {
    const auto bind = launches_.has_scalar ? BindStepWithScalar : BindStep;
    return bind(context, launches_.states, launches_.settings);
  }
  absl::Status Run(RunContext& context) const override {
    return (doubles_ ? launches_.doubles : launches_.floats)(context, maximize_);
  }

 private:
  const StepLaunches& launches_;
  bool doubles_, maximize_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeStep(const NodeSpec& spec) {
  const StepLaunches& launches = LaunchesOf(StepRuleOf(spec));
  ONWARD_RETURN_IF_ERROR(CheckStep(spec, launches.states + (launches.has_scalar ? 1 : 0)));
  return std::make_unique<Step>(launches, spec.input_dtype(0) == DType::kFloat64,
                                spec.attributes().Int("maximize", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AdadeltaStep", "adadelta_step_cuda", MakeStep},
    {"onward", "AdagradStep", "adagrad_step_cuda", MakeStep},
    {"onward", "AdamStep", "adam_step_cuda", MakeStep},
    {"onward", "LionStep", "lion_step_cuda", MakeStep},
    {"onward", "NAdamStep", "nadam_step_cuda", MakeStep},
    {"onward", "RAdamStep", "radam_step_cuda", MakeStep},
    {"onward", "RMSpropStep", "rmsprop_step_cuda", MakeStep},
    {"onward", "SgdStep", "sgd_step_cuda", MakeStep},
};

}  // namespace

KernelList OptimizerSteps() { return kKernels; }

}  // namespace onward::kernels::cuda
