// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss with its gradient, of any float type.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/loss_plan.h"

namespace onward::kernels::cpu {
namespace {

// The largest score of one label and the logarithm of the sum of exp(score - largest).
template <typename T, typename C = ComputeType<T>>
void FindNormalizer(const T* x, const LossPlan& plan, C* top, C* log_sum) {
  *top = -std::numeric_limits<C>::infinity();
  for (int64_t c = 0; c < plan.classes; ++c)
    *top = functors::Max()(*top, static_cast<C>(x[c * plan.positions]));
  double sum = 0;
  for (int64_t c = 0; c < plan.classes; ++c)
    sum += static_cast<double>(std::exp(static_cast<C>(x[c * plan.positions]) - *top));
  *log_sum = static_cast<C>(std::log(sum));
}

template <typename T, bool softmax>
int64_t RunLosses(const LossPlan& plan, const LossData& data, int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  int64_t bad = -1;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = plan.FirstScore(i);
    const T* x = static_cast<const T*>(data.scores) + first;
    C top = 0, log_sum = 0;
    if constexpr (softmax) FindNormalizer(x, plan, &top, &log_sum);
    const auto log_probability = [&](int64_t c) {
      return static_cast<C>(x[c * plan.positions]) - top - log_sum;
    };
    if (softmax && data.log_prob != nullptr) {
      T* to = static_cast<T*>(data.log_prob) + first;
      for (int64_t c = 0; c < plan.classes; ++c)
        to[c * plan.positions] = static_cast<T>(log_probability(c));
    }
    const bool good = StoreLabelLoss(
        plan, data, i, [&](int64_t c) { return static_cast<double>(log_probability(c)); },
        [&](int64_t c) {
          return static_cast<double>(static_cast<C>(static_cast<const T*>(data.weights)[c]));
        });
    if (!good && bad < 0) bad = i;
  }
  return bad;
}

template <typename T>
int64_t RunGradients(const LossPlan& plan, const LossGradientData& data, int64_t begin,
                     int64_t end) {
  using C = ComputeType<T>;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = plan.FirstScore(i), label = ReadLabel(data.labels, i);
    if (label < 0 || label >= plan.classes) return i;
    const T* x = static_cast<const T*>(data.scores) + first;
    T* to = static_cast<T*>(data.dx) + first;
    const C dy = static_cast<C>(static_cast<const T*>(data.dy)[i]);
    C top = 0, log_sum = 0;
    FindNormalizer(x, plan, &top, &log_sum);
    for (int64_t c = 0; c < plan.classes; ++c) {
      const int64_t at = c * plan.positions;
      const C softmax = std::exp(static_cast<C>(x[at]) - top - log_sum);
      to[at] = static_cast<T>(dy * (c == label ? softmax - C{1} : softmax));
    }
  }
  return -1;
}

template <bool softmax>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoss(const NodeSpec& spec) {
  LossLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunLosses<typename decltype(tag)::type, softmax>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return MakeLossKernel(spec, loop);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const NodeSpec& spec) {
  if (spec.input_dtype(2) != spec.input_dtype(0))
    return absl::UnimplementedError("only where scores and dY have one type");
  LossGradientLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunGradients<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return MakeLossGradientKernel(loop);
}

constexpr KernelEntry kKernels[] = {
    {"", "NegativeLogLikelihoodLoss", "negative_log_likelihood_loss_reference", MakeLoss<false>},
    {"", "SoftmaxCrossEntropyLoss", "softmax_cross_entropy_loss_reference", MakeLoss<true>},
    {"onward", "SoftmaxCrossEntropyLossGradient", "softmax_cross_entropy_loss_gradient_reference",
     MakeGradient},
};

}  // namespace

KernelList ReferenceLoss() { return kKernels; }

}  // namespace onward::kernels::cpu
