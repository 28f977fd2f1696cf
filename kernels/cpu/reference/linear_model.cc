// LinearClassifier and LinearRegressor.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/class_scores.h"
#include "kernels/cpu/simd/row_dots.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Products of one chunk of rows.
constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kBlock = 16;  // rows

struct LinearModel {
  int64_t outputs = 1;  // rows of the coefficients
  std::vector<double> coefficients, intercepts;
  PostTransform transform = PostTransform::kNone;
  ReadNumbers read = nullptr;
  const RowDots* dots = nullptr;

  int64_t features() const { return static_cast<int64_t>(coefficients.size()) / outputs; }
  // Of a worker: rows that are not of floats, and scores.
  int64_t scratch_bytes() const {
    return kBlock * (features() + outputs) * static_cast<int64_t>(sizeof(double));
  }

  void Score(const TensorView& in, int64_t row, int64_t rows, double* widened,
             double* scores) const {
    const int64_t count = features();
    if (in.dtype == DType::kFloat32) {
      const float* x = in.as<const float>() + row * count;
      dots->of_floats(x, rows, coefficients.data(), outputs, count, scores);
    } else {
      read(in.data, row * count, rows * count, widened);
      dots->of_doubles(widened, rows, coefficients.data(), outputs, count, scores);
    }
    if (intercepts.empty()) return;
    for (int64_t r = 0; r < rows; ++r, scores += outputs)
      for (int64_t i = 0; i < outputs; ++i) scores[i] += intercepts[static_cast<size_t>(i)];
  }

  // Calls body(row, scores) for each row of input 0 in parallel.
  template <typename F>
  void ForEachRow(const RunContext& context, const F& body) const {
    const int64_t all = context.output(0).dim(0);
    const int64_t grain = std::max<int64_t>(1, kGrain / (kBlock * features() * outputs));
    context.ParallelForWorkers(
        (all + kBlock - 1) / kBlock, grain, [&](int worker, int64_t begin, int64_t end) {
          double* widened = context.scratch<double>() + worker * kBlock * (features() + outputs);
          double* scores = widened + kBlock * features();
          for (int64_t first = begin * kBlock; first < std::min(all, end * kBlock);
               first += kBlock) {
            const int64_t rows = std::min(kBlock, all - first);
            Score(context.input(0), first, rows, widened, scores);
            for (int64_t r = 0; r < rows; ++r) body(first + r, scores + r * outputs);
          }
        });
  }
};

// The number of rows of X; a vector is one row.
absl::StatusOr<int64_t> Rows(DimsView dims, int64_t features) {
  if (dims.empty() || dims.size() > 2 || dims.back() != features) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has shape ", DimsString(dims), ", the model has ", features, " features"));
  }
  return dims.size() == 1 ? 1 : dims[0];
}

class LinearRegressor : public Kernel {
 public:
  explicit LinearRegressor(LinearModel model) : model_(std::move(model)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const int64_t rows, Rows(context.input_dims(0), model_.features()));
    context.SetOutput(0, {rows, model_.outputs});
    context.SetScratch(context.num_workers() * model_.scratch_bytes());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    float* y = context.out<float>(0);
    const int64_t count = model_.outputs;
    model_.ForEachRow(context, [&](int64_t row, double* scores) {
      TransformScores(model_.transform, {scores, static_cast<size_t>(count)});
      for (int64_t i = 0; i < count; ++i) y[row * count + i] = static_cast<float>(scores[i]);
    });
    return absl::OkStatus();
  }

 private:
  LinearModel model_;
};

class LinearClassifier : public Kernel {
 public:
  LinearClassifier(LinearModel model, ClassLabels labels)
      : model_(std::move(model)), labels_(std::move(labels)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const int64_t rows, Rows(context.input_dims(0), model_.features()));
    context.SetOutput(0, {rows});
    context.SetOutput(1, {rows, mirrored() ? 2 : model_.outputs});
    context.SetScratch(context.num_workers() * model_.scratch_bytes());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = mirrored() ? 2 : model_.outputs;
    float* z = context.has_output(1) ? context.out<float>(1) : nullptr;
    model_.ForEachRow(context, [&](int64_t row, double* scores) {
      double pair[2] = {-scores[0], scores[0]};
      if (mirrored()) scores = pair;
      TransformScores(model_.transform, {scores, static_cast<size_t>(count)});
      int64_t best = std::max_element(scores, scores + count) - scores;
      if (count == 1)
        best = scores[0] >= (model_.transform == PostTransform::kNone ? 0.0 : 0.5) ? 1 : 0;
      labels_.Write(best, context.output(0), row);
      for (int64_t i = 0; z != nullptr && i < count; ++i)
        z[row * count + i] = static_cast<float>(scores[i]);
    });
    return absl::OkStatus();
  }

 private:
  // One row of coefficients for two classes: the other's score is its negative.
  bool mirrored() const { return model_.outputs == 1 && labels_.size() == 2; }
  LinearModel model_;
  ClassLabels labels_;
};

absl::StatusOr<LinearModel> ReadModel(const NodeSpec& spec, int64_t outputs) {
  const Attributes& attributes = spec.attributes();
  LinearModel model;
  const std::vector<float> coefficients = attributes.Floats("coefficients");
  const std::vector<float> intercepts = attributes.Floats("intercepts");
  model.coefficients.assign(coefficients.begin(), coefficients.end());
  model.intercepts.assign(intercepts.begin(), intercepts.end());
  model.dots = &kDotsOfRowsPerTarget.For(VectorTarget())();
  model.outputs = outputs;
  model.read = ReaderOfNumbers(spec.input_dtype(0));
  if (model.read == nullptr) return absl::UnimplementedError("dtype");
  const auto size = static_cast<int64_t>(model.coefficients.size());
  const bool fits =
      outputs >= 1 && size >= 1 && size % outputs == 0 &&
      (model.intercepts.empty() || static_cast<int64_t>(model.intercepts.size()) == outputs);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        size, " coefficients and ", model.intercepts.size(), " intercepts for ", outputs, " rows"));
  }
  ONWARD_ASSIGN_OR_RETURN(model.transform,
                          PostTransformFromName(attributes.String("post_transform", "NONE")));
  return model;
}

Made MakeLinearRegressor(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(LinearModel model, ReadModel(spec, spec.attributes().Int("targets", 1)));
  return std::make_unique<LinearRegressor>(std::move(model));
}

Made MakeLinearClassifier(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  ClassLabels labels = {attributes.Ints("classlabels_ints"),
                        attributes.Strings("classlabels_strings")};
  const auto intercepts = static_cast<int64_t>(attributes.Floats("intercepts").size());
  const auto classes = static_cast<int64_t>(labels.size());
  // Intercepts are optional; two classes may share one row.
  const int64_t outputs = intercepts > 0 ? intercepts : std::max<int64_t>(classes, 1);
  if (outputs != classes && !(outputs == 1 && classes <= 2) && classes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(classes, " labels for ", outputs, " rows of coefficients"));
  }
  ONWARD_ASSIGN_OR_RETURN(LinearModel model, ReadModel(spec, outputs));
  return std::make_unique<LinearClassifier>(std::move(model), std::move(labels));
}

constexpr KernelEntry kKernels[] = {
    {"ai.onnx.ml", "LinearRegressor", "linear_regressor_reference", MakeLinearRegressor},
    {"ai.onnx.ml", "LinearClassifier", "linear_classifier_reference", MakeLinearClassifier},
};

}  // namespace

KernelList ReferenceLinearModel() { return kKernels; }

}  // namespace onward::kernels::cpu
