// LinearClassifier and LinearRegressor.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/class_scores.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

struct LinearModel {
  int64_t outputs = 1;  // rows of the coefficients
  std::vector<float> coefficients, intercepts;
  PostTransform transform = PostTransform::kNone;
  ReadNumber read = nullptr;

  int64_t features() const { return static_cast<int64_t>(coefficients.size()) / outputs; }
  double Score(const void* in, int64_t row, int64_t output) const {
    const int64_t count = features();
    double sum =
        intercepts.empty() ? 0 : static_cast<double>(intercepts[static_cast<size_t>(output)]);
    for (int64_t i = 0; i < count; ++i) {
      sum += read(in, row * count + i) *
             static_cast<double>(coefficients[static_cast<size_t>(output * count + i)]);
    }
    return sum;
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
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    absl::InlinedVector<double, 16> scores(static_cast<size_t>(model_.outputs));
    for (int64_t r = 0; r < context.output(0).dim(0); ++r) {
      for (int64_t o = 0; o < model_.outputs; ++o)
        scores[static_cast<size_t>(o)] = model_.Score(context.input(0).data, r, o);
      TransformScores(model_.transform, absl::MakeSpan(scores));
      for (int64_t o = 0; o < model_.outputs; ++o)
        StoreNumber(scores[static_cast<size_t>(o)], context.output(0), r * model_.outputs + o);
    }
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
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    absl::InlinedVector<double, 16> scores;
    for (int64_t r = 0; r < context.output(0).dim(0); ++r) {
      scores.clear();
      for (int64_t o = 0; o < model_.outputs; ++o)
        scores.push_back(model_.Score(context.input(0).data, r, o));
      if (mirrored()) scores.insert(scores.begin(), -scores[0]);
      TransformScores(model_.transform, absl::MakeSpan(scores));
      int64_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      if (scores.size() == 1)
        best = scores[0] >= (model_.transform == PostTransform::kNone ? 0.0 : 0.5) ? 1 : 0;
      labels_.Write(best, context.output(0), r);
      if (!context.has_output(1)) continue;
      for (size_t i = 0; i < scores.size(); ++i)
        StoreNumber(scores[i], context.output(1),
                    r * static_cast<int64_t>(scores.size()) + static_cast<int64_t>(i));
    }
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
  model.coefficients = attributes.Floats("coefficients");
  model.intercepts = attributes.Floats("intercepts");
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
