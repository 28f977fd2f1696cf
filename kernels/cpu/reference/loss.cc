// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Losses are reduced in double, in order.
#include <atomic>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {
namespace {

enum class Reduction { kNone, kSum, kMean };

// Scores [batch, classes, positions], labels [batch, positions].
struct LossPlan {
  int64_t batch = 1, classes = 1, positions = 1;
};

struct LossData {
  const void* scores;
  TensorView labels;
  const void* weights;  // may be null
  void* log_prob;       // may be null
  double* losses;       // per label
  double* label_weights;
  std::optional<int64_t> ignore;
};

int64_t ReadLabel(const TensorView& labels, int64_t i) {
  return labels.dtype == DType::kInt64 ? labels.as<const int64_t>()[i]
                                       : labels.as<const int32_t>()[i];
}

// The labels [begin, end). Returns the first one whose label is no class, or -1.
template <typename T, bool softmax>
int64_t RunLosses(const LossPlan& plan, const LossData& data, int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  int64_t bad = -1;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = i / plan.positions * plan.classes * plan.positions + i % plan.positions;
    const T* x = static_cast<const T*>(data.scores) + first;
    C top = 0, log_sum = 0;
    if constexpr (softmax) {
      top = -std::numeric_limits<C>::infinity();
      for (int64_t c = 0; c < plan.classes; ++c)
        top = functors::Max()(top, static_cast<C>(x[c * plan.positions]));
      double sum = 0;
      for (int64_t c = 0; c < plan.classes; ++c)
        sum += static_cast<double>(std::exp(static_cast<C>(x[c * plan.positions]) - top));
      log_sum = static_cast<C>(std::log(sum));
      if (data.log_prob != nullptr) {
        T* to = static_cast<T*>(data.log_prob) + first;
        for (int64_t c = 0; c < plan.classes; ++c)
          to[c * plan.positions] =
              static_cast<T>(static_cast<C>(x[c * plan.positions]) - top - log_sum);
      }
    }
    const int64_t label = ReadLabel(data.labels, i);
    data.losses[i] = data.label_weights[i] = 0;
    if (data.ignore.has_value() && label == *data.ignore) continue;
    if (label < 0 || label >= plan.classes) {
      if (bad < 0) bad = i;
      continue;
    }
    const double weight =
        data.weights == nullptr
            ? 1.0
            : static_cast<double>(static_cast<C>(static_cast<const T*>(data.weights)[label]));
    data.label_weights[i] = weight;
    const C log_probability = static_cast<C>(x[label * plan.positions]) - top - log_sum;
    data.losses[i] = -static_cast<double>(log_probability) * weight;
  }
  return bad;
}

using LossLoop = int64_t (*)(const LossPlan& plan, const LossData& data, int64_t begin,
                             int64_t end);

class Loss : public Kernel {
 public:
  Loss(LossLoop loop, Reduction reduction, std::optional<int64_t> ignore)
      : loop_(loop), reduction_(reduction), ignore_(ignore) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView scores = context.input_dims(0), labels = context.input_dims(1);
    if (scores.size() < 2) {
      return absl::InvalidArgumentError(absl::StrCat("scores have shape ", DimsString(scores),
                                                     ", must be [batch, classes, ...]"));
    }
    Dims expected(scores.begin(), scores.end());
    expected.erase(expected.begin() + 1);
    if (labels != DimsView(expected)) {
      return absl::InvalidArgumentError(absl::StrCat("labels have shape ", DimsString(labels),
                                                     ", must have ", DimsString(expected)));
    }
    auto* plan = context.NewState<LossPlan>();
    *plan = {scores[0], scores[1], NumElements(scores, 2, static_cast<int64_t>(scores.size()))};
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
                           ignore_};
    std::atomic<int64_t> bad{count};
    const int64_t grain = std::max<int64_t>(1, kMathGrain / std::max<int64_t>(1, plan.classes));
    context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      const int64_t found = loop_(plan, data, begin, end);
      if (found < 0) return;
      int64_t least = bad.load();
      while (found < least && !bad.compare_exchange_weak(least, found)) {
      }
    });
    if (bad < count) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", ReadLabel(data.labels, bad), " at position ", bad.load(),
                       " is out of range for ", plan.classes, " classes"));
    }
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
  std::optional<int64_t> ignore_;
};

template <bool softmax>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoss(const NodeSpec& spec) {
  LossLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunLosses<typename decltype(tag)::type, softmax>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
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
  std::optional<int64_t> ignore;
  if (spec.attributes().Has("ignore_index")) ignore = spec.attributes().Int("ignore_index", 0);
  return std::make_unique<Loss>(loop, reduction, ignore);
}

constexpr KernelEntry kKernels[] = {
    {"", "NegativeLogLikelihoodLoss", "negative_log_likelihood_loss_reference", MakeLoss<false>},
    {"", "SoftmaxCrossEntropyLoss", "softmax_cross_entropy_loss_reference", MakeLoss<true>},
};

}  // namespace

KernelList ReferenceLoss() { return kKernels; }

}  // namespace onward::cpu
