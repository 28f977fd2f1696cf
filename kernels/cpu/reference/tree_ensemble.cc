// TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/class_scores.h"
#include "kernels/cpu/reference/tree_model.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
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
  ReadNumbers read = nullptr;

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

  // `scores` and `voted` have one element per row and target. At most kWalks rows.
  void Score(const double* rows, int64_t columns, int64_t count, double* scores,
             bool* voted) const {
    std::fill_n(scores, count * targets, 0.0);
    std::fill_n(voted, count * targets, false);
    const bool flat = !trees.flat.empty() &&
                      std::none_of(rows, rows + count * columns, [](double x) { return x != x; });
    int32_t leaves[TreeModel::kWalks];
    // Some rows down one tree, or one row down some trees.
    const size_t step = count == 1 ? TreeModel::kWalks : 1;
    for (size_t tree = 0; tree < trees.roots.size(); tree += step) {
      const auto roots = absl::MakeConstSpan(trees.roots).subspan(tree, step);
      const int64_t walks = count == 1 ? static_cast<int64_t>(roots.size()) : count;
      for (int64_t i = 0; i < walks; ++i)
        leaves[i] = roots[count == 1 ? static_cast<size_t>(i) : 0];
      if (flat) {
        trees.WalkFlat(rows, count == 1 ? 0 : columns, walks, leaves);
      } else {
        for (int64_t i = 0; i < walks; ++i)
          leaves[i] = trees.Walk(leaves[i], rows + (count == 1 ? 0 : i * columns));
      }
      for (int64_t i = 0; i < walks; ++i) {
        const int64_t row = count == 1 ? 0 : i * targets;
        for (const Vote& vote : trees.votes_of(leaves[i]))
          Count(vote, scores[row + vote.target], voted[row + vote.target]);
      }
    }
    for (int64_t i = 0; i < count * targets; ++i) {
      if (aggregate == Aggregate::kAverage) scores[i] /= static_cast<double>(trees.roots.size());
      if (!base.empty()) scores[i] += base[base.size() == 1 ? 0 : static_cast<size_t>(i % targets)];
    }
  }

 private:
  void Count(const Vote& vote, double& score, bool& seen) const {
    if (aggregate == Aggregate::kMin) {
      score = seen ? std::min(score, vote.weight) : vote.weight;
    } else if (aggregate == Aggregate::kMax) {
      score = seen ? std::max(score, vote.weight) : vote.weight;
    } else {
      score += vote.weight;
    }
    seen = true;
  }
};

using Scores = absl::InlinedVector<double, 16>;

class TreeKernel : public Kernel {
 public:
  explicit TreeKernel(Ensemble ensemble) : ensemble_(std::move(ensemble)) {
    ensemble_.trees.Flatten();
  }

 protected:
  // Calls finish(row, scores) for every row.
  template <typename Finish>
  void ForEachRow(const RunContext& context, const Finish& finish) const {
    const int64_t columns = context.input(0).dim(1), all = context.input(0).dim(0);
    const int64_t targets = ensemble_.targets;
    const auto trees = static_cast<int64_t>(ensemble_.trees.roots.size());
    constexpr int64_t kBlock = TreeModel::kWalks;
    const int64_t grain = std::max<int64_t>(1, 512 / (trees + 1) / kBlock);
    context.ParallelFor((all + kBlock - 1) / kBlock, grain, [&](int64_t begin, int64_t end) {
      const auto most = static_cast<size_t>(std::min(kBlock, all));
      absl::InlinedVector<double, 512> rows(most * static_cast<size_t>(columns));
      absl::InlinedVector<double, 64> scores(most * static_cast<size_t>(targets));
      absl::InlinedVector<bool, 64> voted(scores.size());
      Scores row;
      for (int64_t first = begin * kBlock; first < std::min(all, end * kBlock); first += kBlock) {
        const int64_t count = std::min(kBlock, all - first);
        ensemble_.read(context.input(0).data, first * columns, count * columns, rows.data());
        ensemble_.Score(rows.data(), columns, count, scores.data(), voted.data());
        for (int64_t i = 0; i < count; ++i) {
          row.assign(scores.data() + i * targets, scores.data() + (i + 1) * targets);
          finish(first + i, row);
        }
      }
    });
  }
  Ensemble ensemble_;
};

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
      TransformScores(ensemble_.transform, absl::MakeSpan(scores));
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
      TransformScores(ensemble_.transform, absl::MakeSpan(scores));
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
    return absl::InvalidArgumentError(
        absl::StrCat("aggregate_function is '", name, "', must be AVERAGE, SUM, MIN or MAX"));
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

}  // namespace onward::kernels::cpu
