// SVMClassifier and SVMRegressor: libsvm's one-against-one classifiers and regressors over support
// vectors, and liblinear's linear ones. Where the standard is silent (two classes, labels of the
// linear form) the result is ONNX Runtime's.
#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/svm_model.h"
#include "kernels/cpu/reference/svm_probability.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;
using Scores = absl::InlinedVector<double, 16>;

class SvmRegressor : public Kernel {
 public:
  SvmRegressor(SvmModel model, bool one_class) : model_(std::move(model)), one_class_(one_class) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const int64_t rows, model_.Rows(context.input_dims(0)));
    context.SetOutput(0, {rows, 1});
    context.SetScratch(context.num_workers() * model_.RowBytes());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    model_.ForEachRow(context, [&](int64_t row, const double* x, double* kernels) {
      double score = 0;
      if (model_.num_vectors == 0) model_.Multiply(x, 1, &score);
      score += static_cast<double>(model_.rho[0]);
      if (model_.num_vectors > 0) model_.Apply(x, kernels);
      for (int64_t v = 0; v < model_.num_vectors; ++v)
        score += static_cast<double>(model_.coefficients[static_cast<size_t>(v)]) * kernels[v];
      if (one_class_) {
        score = score > 0 ? 1 : -1;
      } else {
        TransformScores(model_.transform, absl::MakeSpan(&score, 1));
      }
      context.out<float>(0)[row] = static_cast<float>(score);
    });
    return absl::OkStatus();
  }

 private:
  SvmModel model_;
  bool one_class_;
};

// One row's outcome. `scores` holds what post_transform is applied to.
struct Outcome {
  int64_t winner = 0;
  Scores scores;
};

class SvmClassifier : public Kernel {
 public:
  SvmClassifier(SvmModel model, ClassLabels labels, std::vector<int64_t> per_class,
                std::vector<float> prob_a, std::vector<float> prob_b)
      : model_(std::move(model)),
        labels_(std::move(labels)),
        classes_(static_cast<int64_t>(labels_.size())),
        per_class_(std::move(per_class)),
        prob_a_(std::move(prob_a)),
        prob_b_(std::move(prob_b)) {
    positive_ = std::all_of(model_.coefficients.begin(), model_.coefficients.end(),
                            [](float c) { return c >= 0; });
  }

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const int64_t rows, model_.Rows(context.input_dims(0)));
    context.SetOutput(0, {rows});
    const int64_t columns = paired() && !calibrated() && classes_ > 2 ? num_pairs() : classes_;
    context.SetOutput(1, {rows, columns});
    context.SetScratch(context.num_workers() * model_.RowBytes());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    model_.ForEachRow(context, [&](int64_t row, const double* x, double* kernels) {
      Outcome outcome;
      if (paired()) {
        ScorePairs(x, kernels, outcome);
      } else {
        ScoreClasses(x, outcome);
      }
      labels_.Write(classes_ == 1 ? 1 : outcome.winner, context.output(0), row);
      if (!context.has_output(1)) return;
      Finish(outcome.scores);
      const auto columns = static_cast<int64_t>(outcome.scores.size());
      for (int64_t i = 0; i < columns; ++i)
        context.out<float>(1)[row * columns + i] =
            static_cast<float>(outcome.scores[static_cast<size_t>(i)]);
    });
    return absl::OkStatus();
  }

 private:
  bool paired() const { return model_.num_vectors > 0; }
  bool calibrated() const { return paired() && !prob_a_.empty(); }
  int64_t num_pairs() const { return classes_ * (classes_ - 1) / 2; }

  // liblinear: a row of coefficients for each class.
  void ScoreClasses(const double* x, Outcome& outcome) const {
    outcome.scores.resize(static_cast<size_t>(classes_));
    model_.Multiply(x, classes_, outcome.scores.data());
    for (double& score : outcome.scores) score += static_cast<double>(model_.rho[0]);
    const auto best = std::max_element(outcome.scores.begin(), outcome.scores.end());
    outcome.winner = best - outcome.scores.begin();
    if (classes_ == 2 && (positive_ ? *best >= 0.5 : *best > 0)) outcome.winner = 1;
  }

  // libsvm: every pair of classes votes.
  void ScorePairs(const double* x, double* kernels, Outcome& outcome) const {
    model_.Apply(x, kernels);
    absl::InlinedVector<int64_t, 16> votes(static_cast<size_t>(classes_), 0);
    int64_t begin_i = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      const int64_t count_i = per_class_[static_cast<size_t>(i)];
      int64_t begin_j = begin_i + count_i;
      for (int64_t j = i + 1; j < classes_; ++j) {
        const int64_t count_j = per_class_[static_cast<size_t>(j)];
        const double score = static_cast<double>(model_.rho[outcome.scores.size()]) +
                             Weighted(j - 1, begin_i, count_i, kernels) +
                             Weighted(i, begin_j, count_j, kernels);
        outcome.scores.push_back(score);
        ++votes[static_cast<size_t>(score > 0 ? i : j)];
        begin_j += count_j;
      }
      begin_i += count_i;
    }
    outcome.winner = std::max_element(votes.begin(), votes.end()) - votes.begin();
  }

  double Weighted(int64_t row, int64_t begin, int64_t count, const double* kernels) const {
    const float* weights = model_.coefficients.data() + row * model_.num_vectors;
    double sum = 0;
    for (int64_t v = begin; v < begin + count; ++v)
      sum += static_cast<double>(weights[v]) * kernels[v];
    return sum;
  }

  // From scores of pairs or classes to what Z holds.
  void Finish(Scores& scores) const {
    if (calibrated()) {
      const Scores pairs = scores;
      scores.resize(static_cast<size_t>(classes_));
      ClassProbabilities(pairs, prob_a_, prob_b_, absl::MakeSpan(scores));
    }
    if (scores.size() > 1) return TransformScores(model_.transform, absl::MakeSpan(scores));
    if (model_.transform == PostTransform::kProbit) {
      const double before = scores[0];
      TransformScores(model_.transform, absl::MakeSpan(scores));
      if (classes_ == 2) scores.push_back(before);
    } else if (classes_ == 2) {
      const double score = scores[0];
      const bool complement = model_.transform == PostTransform::kSoftmax ||
                              model_.transform == PostTransform::kSoftmaxZero;
      scores = {complement ? 1 - score : -score, score};
      if (!complement) TransformScores(model_.transform, absl::MakeSpan(scores));
    }
  }

  SvmModel model_;
  ClassLabels labels_;
  int64_t classes_;
  std::vector<int64_t> per_class_;
  std::vector<float> prob_a_, prob_b_;
  bool positive_ = false;
};

absl::Status CheckSize(const char* name, size_t size, int64_t needed) {
  if (static_cast<int64_t>(size) >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", size, " values, ", needed, " are needed"));
}

Made MakeSvmRegressor(const NodeSpec& spec) {
  const int64_t supports = std::max<int64_t>(0, spec.attributes().Int("n_supports", 0));
  ONWARD_ASSIGN_OR_RETURN(SvmModel model, ReadSvmModel(spec, supports, 1));
  ONWARD_RETURN_IF_ERROR(CheckSize("rho", model.rho.size(), 1));
  ONWARD_RETURN_IF_ERROR(CheckSize("coefficients", model.coefficients.size(), supports));
  return std::make_unique<SvmRegressor>(std::move(model),
                                        spec.attributes().Int("one_class", 0) != 0);
}

// The sum of vectors_per_class, whose entries stand for the classes in order.
absl::StatusOr<int64_t> CountVectors(const std::vector<int64_t>& per_class, int64_t classes) {
  int64_t count = 0;
  for (const int64_t own : per_class) {
    const std::optional<int64_t> sum = CheckedAdd(count, own);
    if (own < 0 || !sum) return absl::InvalidArgumentError("vectors_per_class has a bad count");
    count = *sum;
  }
  if (count > 0 && static_cast<int64_t>(per_class.size()) != classes) {
    return absl::InvalidArgumentError(absl::StrCat("vectors_per_class has ", per_class.size(),
                                                   " entries for ", classes, " classes"));
  }
  return count;
}

Made MakeSvmClassifier(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  ClassLabels labels = {attributes.Ints("classlabels_ints"),
                        attributes.Strings("classlabels_strings")};
  const auto classes = static_cast<int64_t>(labels.size());
  if (classes == 0) {
    return absl::InvalidArgumentError("neither classlabels_ints nor classlabels_strings is given");
  }
  std::vector<int64_t> per_class = attributes.Ints("vectors_per_class");
  ONWARD_ASSIGN_OR_RETURN(const int64_t vectors, CountVectors(per_class, classes));
  ONWARD_ASSIGN_OR_RETURN(SvmModel model, ReadSvmModel(spec, vectors, classes));
  std::vector<float> prob_a = attributes.Floats("prob_a"), prob_b = attributes.Floats("prob_b");
  if (prob_a.size() != prob_b.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("prob_a has ", prob_a.size(), " values, prob_b has ", prob_b.size()));
  }
  if (vectors == 0) {
    ONWARD_RETURN_IF_ERROR(CheckSize("rho", model.rho.size(), 1));
  } else {
    const std::optional<int64_t> pairs = CheckedMul(classes, classes - 1);
    const std::optional<int64_t> weights = CheckedMul(classes - 1, vectors);
    if (!pairs || !weights) return absl::InvalidArgumentError("too many classes");
    if (classes == 1 && prob_a.empty())
      return absl::InvalidArgumentError("one class has no pair of classes to score");
    ONWARD_RETURN_IF_ERROR(CheckSize("rho", model.rho.size(), *pairs / 2));
    ONWARD_RETURN_IF_ERROR(CheckSize("coefficients", model.coefficients.size(), *weights));
    if (!prob_a.empty()) ONWARD_RETURN_IF_ERROR(CheckSize("prob_a", prob_a.size(), *pairs / 2));
  }
  return std::make_unique<SvmClassifier>(std::move(model), std::move(labels), std::move(per_class),
                                         std::move(prob_a), std::move(prob_b));
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr KernelEntry kKernels[] = {
    {kMl, "SVMClassifier", "svm_classifier_reference", MakeSvmClassifier},
    {kMl, "SVMRegressor", "svm_regressor_reference", MakeSvmRegressor},
};

}  // namespace

KernelList ReferenceSvm() { return kKernels; }

}  // namespace onward::kernels::cpu
