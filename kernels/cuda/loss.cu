// SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: a line of scores for each label, in float
// (double for doubles). The losses of all labels are summed in double.
#include <algorithm>

#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/loss.cuh"

namespace onward::kernels::cuda {
namespace {

// Scores of type S, losses and weights of type T.
template <typename S, typename T>
struct LossOperands {
  const S* scores;
  Labels labels;
  const T* weights;  // of the classes; may be null
  T* log_prob;       // of the scores' shape; may be null
  T* y;              // per label; null: losses and their weights are kept to be summed
  double *losses, *label_weights;
  LossAttributes attributes;
  DeviceFaultSite fault;
};

// Puts down the loss of label i. `log_probability(c)`: the logarithm of the probability of class c.
template <typename S, typename T, typename LogProbability>
__device__ void StoreLabelLoss(const LossOperands<S, T>& o, int64_t i, int64_t classes,
                               LogProbability&& log_probability) {
  const int64_t label = o.labels[i];
  double loss = 0, weight = 0;
  if (!o.attributes.ignores || label != o.attributes.ignored) {
    if (label < 0 || label >= classes) {
      ReportBadIndex(o.fault, i, label, classes);
    } else {
      weight = o.weights == nullptr ? 1.0 : static_cast<double>(Load(o.weights[label]));
      loss = -static_cast<double>(log_probability(label)) * weight;
    }
  }
  if (o.y != nullptr) {
    o.y[i] = Rounded<T>(static_cast<ComputeType<T>>(loss));
  } else {
    o.losses[i] = loss;
    o.label_weights[i] = weight;
  }
}

template <typename S, typename T, typename Lines>
__global__ void LossesOfScores(LossOperands<S, T> o, AxisSplit split) {
  using C = ComputeType<S>;
  Lines::ForEach(split, [&](const Line& line) {
    const S* x = o.scores + line.first;
    const Normalizer<C> n = NormalizerOf<Lines>(x, line.count, split.inner);
    const auto log_probability = [&](int64_t c) {
      return Load(x[c * split.inner]) - n.top - n.log_sum;
    };
    if (o.log_prob != nullptr) {
      for (int64_t c = Lines::index(); c < line.count; c += Lines::count())
        o.log_prob[line.first + c * split.inner] = Rounded<T>(log_probability(c));
    }
    if (line.number >= 0 && Lines::index() == 0)
      StoreLabelLoss(o, line.number, split.count, log_probability);
  });
}

// The scores are logarithms of probabilities.
template <typename T>
__global__ void LossesOfLogarithms(LossOperands<T, T> o, LossPlan plan) {
  for (int64_t i = GlobalIndex(); i < plan.labels(); i += GlobalSize()) {
    const T* x = o.scores + plan.FirstScore(i);
    StoreLabelLoss(o, i, plan.classes, [&](int64_t c) { return Load(x[c * plan.positions]); });
  }
}

// Losses that a block sums before the last one sums what the blocks found.
constexpr int64_t kLossesOfBlock = 16 * kThreads;

int64_t SumBlocks(int64_t labels) {
  return std::clamp<int64_t>((labels + kLossesOfBlock - 1) / kLossesOfBlock, 1, 1024);
}

__device__ inline double SumOfBlock(const double* values, int64_t count) {
  double sum = 0;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) sum += values[i];
  return CombineBlock<functors::Add>(sum);
}

__global__ void SumLosses(const double* losses, const double* weights, int64_t count, double* sums,
                          double* weight_sums) {
  const double sum = SumOfBlock(losses, count), weight = SumOfBlock(weights, count);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    weight_sums[blockIdx.x] = weight;
  }
}

// One block sums all that it is given.
template <typename T>
__global__ void StoreLoss(const double* losses, const double* weights, int64_t count, bool mean,
                          T* y) {
  const double sum = SumOfBlock(losses, count), weight = SumOfBlock(weights, count);
  if (threadIdx.x == 0) *y = Rounded<T>(static_cast<ComputeType<T>>(mean ? sum / weight : sum));
}

template <typename S, typename T>
absl::Status LaunchSums(const RunContext& context, const LossOperands<S, T>& o, int64_t labels) {
  const double *losses = o.losses, *weights = o.label_weights;
  const int64_t blocks = SumBlocks(labels);
  if (blocks > 1) {
    double *sums = o.label_weights + labels, *weight_sums = sums + blocks;
    ONWARD_RETURN_IF_ERROR(Launch(SumLosses, static_cast<unsigned>(blocks), kThreads, 0,
                                  StreamOf(context), losses, weights, labels, sums, weight_sums));
    losses = sums;
    weights = weight_sums;
    labels = blocks;
  }
  return Launch(StoreLoss<T>, 1, kThreads, 0, StreamOf(context), losses, weights, labels,
                o.attributes.reduction == LossReduction::kMean, context.out<T>(0));
}

using LaunchLoss = absl::Status (*)(const RunContext& context, const LossAttributes& attributes);

template <typename S, typename T, bool kSoftmax>
absl::Status LaunchLosses(const RunContext& context, const LossAttributes& attributes) {
  const auto& plan = context.state<LossPlan>();
  const int64_t labels = plan.labels();
  const bool sums = attributes.reduction != LossReduction::kNone;
  double* scratch = context.scratch<double>();
  const LossOperands<S, T> o = {context.in<S>(0),
                                Labels(context.input(1)),
                                context.has_input(2) ? context.in<T>(2) : nullptr,
                                context.has_output(1) ? context.out<T>(1) : nullptr,
                                sums ? nullptr : context.out<T>(0),
                                scratch,
                                scratch + labels,
                                attributes,
                                context.services()->device_fault()};
  if (labels > 0) {
    if constexpr (kSoftmax) {
      const AxisSplit split = SplitOf(plan);
      ONWARD_RETURN_IF_ERROR(
          LaunchLines(LossesOfScores<S, T, RowLines<false>>, LossesOfScores<S, T, RowLines<true>>,
                      LossesOfScores<S, T, ColumnLines>, split, StreamOf(context), o, split));
    } else {
      ONWARD_RETURN_IF_ERROR(
          Launch(LossesOfLogarithms<T>, Blocks(labels), kThreads, 0, StreamOf(context), o, plan));
    }
  }
  return sums ? LaunchSums(context, o, labels) : absl::OkStatus();
}

class Loss : public Kernel {
 public:
  Loss(LaunchLoss launch, const LossAttributes& attributes)
      : launch_(launch), attributes_(attributes) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindLoss(context, attributes_.reduction));
    const int64_t labels = static_cast<const LossPlan*>(context.state())->labels();
    context.SetScratch(context.scratch() +
                       2 * SumBlocks(labels) * static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override { return launch_(context, attributes_); }

 private:
  LaunchLoss launch_;
  LossAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> LossOf(const NodeSpec& spec, LaunchLoss launch) {
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  ONWARD_ASSIGN_OR_RETURN(const LossAttributes attributes, LossAttributes::Parse(spec));
  return std::make_unique<Loss>(launch, attributes);
}

template <bool kSoftmax>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoss(const NodeSpec& spec) {
  LaunchLoss launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch = LaunchLosses<T, T, kSoftmax>;
  });
  return LossOf(spec, launch);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWideLoss(const NodeSpec& spec) {
  LaunchLoss launch = nullptr;
  DispatchDType(TypeList<Float16, BFloat16>(), spec.input_dtype(0), [&](auto tag) {
    launch = LaunchLosses<typename decltype(tag)::type, float, true>;
  });
  return LossOf(spec, launch);
}

constexpr KernelEntry kKernels[] = {
    {"", "NegativeLogLikelihoodLoss", "negative_log_likelihood_loss_cuda", MakeLoss<false>},
    {"", "SoftmaxCrossEntropyLoss", "softmax_cross_entropy_loss_cuda", MakeLoss<true>},
    {"onward", "WideSoftmaxCrossEntropyLoss", "wide_softmax_cross_entropy_loss_cuda", MakeWideLoss},
};

}  // namespace

KernelList LossKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
