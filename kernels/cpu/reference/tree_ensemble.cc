// TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/base/shape.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/class_scores.h"
#include "kernels/cpu/reference/tree_model.h"

namespace onward::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

// Trees and what becomes of their votes.
struct Ensemble {
  TreeModel trees;
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::kSum;
  std::vector<double> base;  // added at the end; one for all targets or one each
  PostTransform transform = PostTransform::kNone;
  ReadNumber read = nullptr;

  absl::Status Check() const {
    for (const Vote& vote : trees.votes) {
      if (vote.target < 0 || vote.target >= targets) {
        return absl::InvalidArgumentError(
            absl::StrCat("a leaf votes for ", vote.target, " of ", targets));
      }
    }
    if (base.size() > 1 && static_cast<int64_t>(base.size()) != targets) {
      return absl::InvalidArgumentError(
          absl::StrCat("base_values has ", base.size(), " elements for ", targets));
    }
    return absl::OkStatus();
  }

  absl::Status CheckInput(DimsView dims) const {
    if (dims.size() == 2 && dims[1] >= trees.features) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "X has shape ", DimsString(dims), ", the trees test ", trees.features, " features"));
  }

  // `voted` has one element per target.
  void Score(const double* row, absl::Span<double> scores, absl::Span<bool> voted) const {
    std::fill(scores.begin(), scores.end(), 0);
    std::fill(voted.begin(), voted.end(), false);
    for (const int32_t root : trees.roots) {
      for (const Vote& vote : trees.votes_of(trees.Walk(root, row))) {
        double& score = scores[static_cast<size_t>(vote.target)];
        bool& seen = voted[static_cast<size_t>(vote.target)];
        if (aggregate == Aggregate::kMin) {
          score = seen ? std::min(score, vote.weight) : vote.weight;
        } else if (aggregate == Aggregate::kMax) {
          score = seen ? std::max(score, vote.weight) : vote.weight;
        } else {
          score += vote.weight;
        }
        seen = true;
      }
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      if (aggregate == Aggregate::kAverage) scores[i] /= static_cast<double>(trees.roots.size());
      if (!base.empty()) scores[i] += base[base.size() == 1 ? 0 : i];
    }
  }
};

class TreeKernel : public Kernel {
 public:
  explicit TreeKernel(Ensemble ensemble) : ensemble_(std::move(ensemble)) {}

 protected:
  // Calls finish(row, scores) for every row.
  template <typename Finish>
  void ForEachRow(const RunContext& context, const Finish& finish) const {
    const int64_t columns = context.input(0).dim(1);
    const auto trees = static_cast<int64_t>(ensemble_.trees.roots.size());
    context.ParallelFor(
        context.input(0).dim(0), std::max<int64_t>(1, 512 / (trees + 1)),
        [&](int64_t begin, int64_t end) {
          absl::InlinedVector<double, 64> row(static_cast<size_t>(columns));
          absl::InlinedVector<double, 16> scores(static_cast<size_t>(ensemble_.targets));
          absl::InlinedVector<bool, 16> voted(scores.size());
          for (int64_t r = begin; r < end; ++r) {
            for (int64_t c = 0; c < columns; ++c)
              row[static_cast<size_t>(c)] = ensemble_.read(context.input(0).data, r * columns + c);
            scores.resize(static_cast<size_t>(ensemble_.targets));
            ensemble_.Score(row.data(), absl::MakeSpan(scores), absl::MakeSpan(voted));
            finish(r, scores);
          }
        });
  }
  Ensemble ensemble_;
};

using Scores = absl::InlinedVector<double, 16>;

void StoreRow(const Scores& scores, const TensorView& out, int64_t row) {
  const auto count = static_cast<int64_t>(scores.size());
  for (int64_t i = 0; i < count; ++i)
    StoreNumber(scores[static_cast<size_t>(i)], out, row * count + i);
}

class Regressor : public TreeKernel {
 public:
  using TreeKernel::TreeKernel;
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(ensemble_.CheckInput(context.input_dims(0)));
    context.SetOutput(0, {context.input_dims(0)[0], ensemble_.targets});
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    ForEachRow(context, [&](int64_t row, Scores& scores) {
      Transform(ensemble_.transform, absl::MakeSpan(scores));
      StoreRow(scores, context.output(0), row);
    });
    return absl::OkStatus();
  }
};

class Classifier : public TreeKernel {
 public:
  // `binary`: of at most two classes the leaves vote for the first alone; their sum is the second's
  // score.
  Classifier(Ensemble ensemble, ClassLabels labels, bool binary)
      : TreeKernel(std::move(ensemble)), labels_(std::move(labels)), binary_(binary) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(ensemble_.CheckInput(context.input_dims(0)));
    const int64_t rows = context.input_dims(0)[0];
    context.SetOutput(0, {rows});
    context.SetOutput(1, {rows, binary_ ? 2 : ensemble_.targets});
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    ForEachRow(context, [&](int64_t row, Scores& scores) {
      if (binary_) {
        const double score = scores[0];
        const bool complement = ensemble_.transform == PostTransform::kNone ||
                                ensemble_.transform == PostTransform::kProbit;
        scores = {complement ? 1 - score : -score, score};
      }
      Transform(ensemble_.transform, absl::MakeSpan(scores));
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      labels_.Write(best, context.output(0), row);
      if (context.has_output(1)) StoreRow(scores, context.output(1), row);
    });
    return absl::OkStatus();
  }

 private:
  ClassLabels labels_;
  bool binary_;
};

Made MakeTreeEnsemble(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  Ensemble ensemble;
  ONWARD_ASSIGN_OR_RETURN(ensemble.trees, ReadTreeEnsemble(attributes));
  ensemble.targets = attributes.Int("n_targets", 1);
  const int64_t aggregate = attributes.Int("aggregate_function", 1);
  const int64_t transform = attributes.Int("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return absl::InvalidArgumentError("aggregate_function or post_transform is out of range");
  ensemble.aggregate = static_cast<Aggregate>(aggregate);
  ensemble.transform = static_cast<PostTransform>(transform);
  ensemble.read = ReaderOfNumbers(spec.input_dtype(0));
  if (ensemble.read == nullptr) return absl::UnimplementedError("dtype");
  ONWARD_RETURN_IF_ERROR(ensemble.Check());
  return std::make_unique<Regressor>(std::move(ensemble));
}

absl::StatusOr<Ensemble> ReadEnsemble(const NodeSpec& spec, const std::string& prefix) {
  Ensemble ensemble;
  ONWARD_ASSIGN_OR_RETURN(ensemble.trees, ReadTreesById(spec.attributes(), prefix));
  ONWARD_ASSIGN_OR_RETURN(ensemble.transform, PostTransformFromName(spec.attributes().String(
                                                  "post_transform", "NONE")));
  ensemble.base = FloatsOrTensor(spec.attributes(), "base_values");
  ensemble.read = ReaderOfNumbers(spec.input_dtype(0));
  if (ensemble.read == nullptr) return absl::UnimplementedError("dtype");
  return ensemble;
}

Made MakeRegressor(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Ensemble ensemble, ReadEnsemble(spec, "target"));
  ensemble.targets = spec.attributes().Int("n_targets", 1);
  const std::string name = spec.attributes().String("aggregate_function", "SUM");
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    return absl::InvalidArgumentError(absl::StrCat("aggregate_function is '", name, "'"));
  ensemble.aggregate = static_cast<Aggregate>(found - std::begin(kNames));
  ONWARD_RETURN_IF_ERROR(ensemble.Check());
  return std::make_unique<Regressor>(std::move(ensemble));
}

Made MakeClassifier(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Ensemble ensemble, ReadEnsemble(spec, "class"));
  ClassLabels labels = {spec.attributes().Ints("classlabels_int64s"),
                        spec.attributes().Strings("classlabels_strings")};
  ensemble.targets = static_cast<int64_t>(labels.size());
  ONWARD_RETURN_IF_ERROR(ensemble.Check());
  std::set<int64_t> targets;
  for (const Vote& vote : ensemble.trees.votes) targets.insert(vote.target);
  const bool binary = labels.size() <= 2 && targets == std::set<int64_t>{0};
  return std::make_unique<Classifier>(std::move(ensemble), std::move(labels), binary);
}

constexpr KernelEntry kKernels[] = {
    {"ai.onnx.ml", "TreeEnsemble", "tree_ensemble_reference", MakeTreeEnsemble},
    {"ai.onnx.ml", "TreeEnsembleRegressor", "tree_ensemble_regressor_reference", MakeRegressor},
    {"ai.onnx.ml", "TreeEnsembleClassifier", "tree_ensemble_classifier_reference", MakeClassifier},
};

}  // namespace

KernelList ReferenceTreeEnsemble() { return kKernels; }

}  // namespace onward::cpu
