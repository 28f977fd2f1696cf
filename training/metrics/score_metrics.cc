#include "training/metrics/score_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/make_loss.h"

namespace onward::training {
namespace {

absl::StatusOr<std::vector<double>> Doubles(const Tensor& tensor) {
  std::vector<double> made(static_cast<size_t>(tensor.num_elements()));
  const bool known = DispatchDType(NumericTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = tensor.view().as<const T>();
    for (size_t i = 0; i < made.size(); ++i) {
      if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>)
        made[i] = static_cast<double>(elements[i]);
      else
        made[i] = static_cast<double>(static_cast<float>(elements[i]));
    }
  });
  if (known) return made;
  return absl::UnimplementedError(
      absl::StrCat("a metric of ", std::string(DTypeName(tensor.dtype()))));
}

// The sizes before, of and after the class axis of the scores.
struct ClassBlocks {
  size_t outer = 1, classes = 1, inner = 1;
};

ClassBlocks BlocksOf(const Tensor& scores, const LossConfig& loss) {
  const DimsView dims = scores.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t given = rank == 1 ? 0 : ClassAxis(loss);
  const int64_t axis = given < 0 ? given + rank : given;
  ClassBlocks blocks;
  for (int64_t i = 0; i < rank; ++i) {
    const auto size = static_cast<size_t>(dims[static_cast<size_t>(i)]);
    (i < axis ? blocks.outer : i == axis ? blocks.classes : blocks.inner) *= size;
  }
  return blocks;
}

// Targets are probabilities: nothing is right or wrong.
bool HasOneTargetEach(const ClassBlocks& blocks, const Tensor& target) {
  return static_cast<size_t>(target.num_elements()) == blocks.outer * blocks.inner;
}

class TopAccuracy : public Metric {
 public:
  TopAccuracy(const LossConfig& loss, int64_t most) : loss_(loss), most_(most) {}

  absl::Status Add(const Tensor& scores, const Tensor& target) override {
    const ClassBlocks blocks = BlocksOf(scores, loss_);
    if (!HasOneTargetEach(blocks, target)) return absl::OkStatus();
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> values, Doubles(scores));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> targets, Doubles(target));
    for (size_t outer = 0; outer < blocks.outer; ++outer) {
      for (size_t inner = 0; inner < blocks.inner; ++inner) {
        const auto label = static_cast<int64_t>(targets[outer * blocks.inner + inner]);
        if (label == IgnoredTarget(loss_)) continue;
        const double* of = values.data() + outer * blocks.classes * blocks.inner + inner;
        ++count_;
        right_ += IsAmongHighest(of, blocks, label);
      }
    }
    return absl::OkStatus();
  }
  std::optional<double> Value() const override {
    if (count_ == 0) return std::nullopt;
    return static_cast<double>(right_) / static_cast<double>(count_);
  }

 private:
  bool IsAmongHighest(const double* scores, const ClassBlocks& blocks, int64_t label) const {
    if (label < 0 || label >= static_cast<int64_t>(blocks.classes)) return false;
    const auto own = static_cast<size_t>(label);
    int64_t higher = 0;
    for (size_t i = 0; i < blocks.classes; ++i) {
      const double other = scores[i * blocks.inner], score = scores[own * blocks.inner];
      higher += other > score || (other == score && i < own);
    }
    return higher < most_;
  }

  const LossConfig loss_;
  const int64_t most_;
  int64_t right_ = 0, count_ = 0;
};

// Fawcett, "An introduction to ROC analysis" (2006), by ranks as Mann and Whitney's U.
class Auc : public Metric {
 public:
  explicit Auc(const LossConfig& loss) : loss_(loss) {}

  absl::Status Add(const Tensor& scores, const Tensor& target) override {
    ONWARD_ASSIGN_OR_RETURN(std::vector<double> values, Doubles(scores));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> targets, Doubles(target));
    if (HasClasses(loss_)) return AddClasses(scores, values, targets);
    const size_t labels =
        scores.rank() < 2 ? 1 : static_cast<size_t>(std::max<int64_t>(1, scores.dims().back()));
    if (labels_.size() < labels) labels_.resize(labels);
    for (size_t i = 0; i < values.size(); ++i) Add(values[i], targets[i], labels_[i % labels]);
    return absl::OkStatus();
  }

  std::optional<double> Value() const override {
    if (nan_) return std::nullopt;
    double sum = 0, count = 0;
    for (const Pairs& pairs : labels_) {
      if (const std::optional<double> area = AreaOf(pairs)) {
        sum += *area;
        ++count;
      }
    }
    if (count == 0) return std::nullopt;
    return sum / count;
  }

 private:
  using Pairs = std::vector<std::pair<double, double>>;  // score, target

  absl::Status AddClasses(const Tensor& scores, const std::vector<double>& values,
                          const std::vector<double>& targets) {
    const ClassBlocks blocks = BlocksOf(scores, loss_);
    if (blocks.classes != 2)
      return absl::InvalidArgumentError(
          absl::StrCat("auc is of two classes, the scores have ", blocks.classes));
    labels_.resize(1);
    for (size_t i = 0; i < std::min(targets.size(), blocks.outer * blocks.inner); ++i) {
      if (targets[i] == static_cast<double>(IgnoredTarget(loss_))) continue;
      const double* of = values.data() + i / blocks.inner * 2 * blocks.inner + i % blocks.inner;
      Add(of[blocks.inner] - of[0], targets[i], labels_[0]);
    }
    return absl::OkStatus();
  }

  void Add(double score, double target, Pairs& pairs) {
    nan_ |= std::isnan(score);
    pairs.emplace_back(score, target);
  }

  // Targets that are neither 0 nor 1 do not count.
  static std::optional<double> AreaOf(Pairs pairs) {
    std::sort(pairs.begin(), pairs.end());
    double zeros = 0, ones = 0, right = 0;
    for (size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
      double equal_zeros = 0, equal_ones = 0;
      for (; end < pairs.size() && !(pairs[begin].first < pairs[end].first); ++end) {
        equal_zeros += pairs[end].second == 0;
        equal_ones += pairs[end].second == 1;
      }
      right += equal_ones * (zeros + equal_zeros / 2);
      zeros += equal_zeros;
      ones += equal_ones;
    }
    if (zeros == 0 || ones == 0) return std::nullopt;
    return right / (zeros * ones);
  }

  const LossConfig loss_;
  std::vector<Pairs> labels_;
  bool nan_ = false;  // has no place in an order
};

class MeanError : public Metric {
 public:
  explicit MeanError(bool squared) : squared_(squared) {}

  absl::Status Add(const Tensor& scores, const Tensor& target) override {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> values, Doubles(scores));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> targets, Doubles(target));
    for (size_t i = 0; i < values.size(); ++i) {
      const double error = values[i] - targets[i];
      sum_ += squared_ ? error * error : std::abs(error);
    }
    count_ += static_cast<double>(values.size());
    return absl::OkStatus();
  }
  std::optional<double> Value() const override {
    if (count_ == 0) return std::nullopt;
    return squared_ ? std::sqrt(sum_ / count_) : sum_ / count_;
  }

 private:
  const bool squared_;
  double sum_ = 0, count_ = 0;
};

class R2 : public Metric {
 public:
  absl::Status Add(const Tensor& scores, const Tensor& target) override {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> values, Doubles(scores));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<double> targets, Doubles(target));
    const size_t outputs =
        scores.rank() == 2 ? static_cast<size_t>(std::max<int64_t>(1, scores.dims()[1])) : 1;
    if (outputs_.size() < outputs) outputs_.resize(outputs);
    for (size_t i = 0; i < values.size(); ++i) outputs_[i % outputs].Add(values[i], targets[i]);
    return absl::OkStatus();
  }
  std::optional<double> Value() const override {
    double sum = 0;
    for (const Output& output : outputs_) {
      if (output.deviations == 0) return std::nullopt;
      sum += 1 - output.errors / output.deviations;
    }
    if (outputs_.empty()) return std::nullopt;
    return sum / static_cast<double>(outputs_.size());
  }

 private:
  // Sums of squares as Welford's, "Note on a method for calculating corrected sums of squares and
  // products" (1962).
  struct Output {
    double count = 0, mean = 0, deviations = 0, errors = 0;

    void Add(double score, double target) {
      errors += (score - target) * (score - target);
      ++count;
      const double before = target - mean;
      mean += before / count;
      deviations += before * (target - mean);
    }
  };

  std::vector<Output> outputs_;
};

}  // namespace

std::unique_ptr<Metric> MakeAuc(const LossConfig& loss, int64_t) {
  return std::make_unique<Auc>(loss);
}
std::unique_ptr<Metric> MakeTopAccuracy(const LossConfig& loss, int64_t number) {
  return std::make_unique<TopAccuracy>(loss, number);
}
std::unique_ptr<Metric> MakeMeanAbsoluteError(const LossConfig&, int64_t) {
  return std::make_unique<MeanError>(false);
}
std::unique_ptr<Metric> MakeRootMeanSquaredError(const LossConfig&, int64_t) {
  return std::make_unique<MeanError>(true);
}
std::unique_ptr<Metric> MakeR2(const LossConfig&, int64_t) { return std::make_unique<R2>(); }

}  // namespace onward::training
