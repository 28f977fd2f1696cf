#include "kernels/cpu/reference/svm_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

// Products of one chunk of rows.
constexpr int64_t kGrain = 1 << 13;

absl::StatusOr<SvmKernel> KernelFromName(const std::string& name) {
  constexpr std::pair<std::string_view, SvmKernel> kNames[] = {{"LINEAR", SvmKernel::kLinear},
                                                               {"POLY", SvmKernel::kPoly},
                                                               {"RBF", SvmKernel::kRbf},
                                                               {"SIGMOID", SvmKernel::kSigmoid}};
  for (const auto& [known, kernel] : kNames) {
    if (name == known) return kernel;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kernel_type is '", name, "', not LINEAR, POLY, RBF or SIGMOID"));
}

}  // namespace

void SvmModel::Apply(const double* x, double* kernels) const {
  if (kernel == SvmKernel::kRbf) {
    dots->distances(x, 1, vectors.data(), num_vectors, features, kernels);
  } else {
    Multiply(x, num_vectors, kernels);
  }
  for (double& value : absl::MakeSpan(kernels, static_cast<size_t>(num_vectors))) {
    switch (kernel) {
      case SvmKernel::kLinear:
        break;
      case SvmKernel::kPoly:
        value = std::pow(gamma * value + coef0, degree);
        break;
      case SvmKernel::kSigmoid:
        value = std::tanh(gamma * value + coef0);
        break;
      case SvmKernel::kRbf:
        value = std::exp(-gamma * value);
        break;
    }
  }
}

absl::StatusOr<int64_t> SvmModel::Rows(DimsView dims) const {
  if (dims.empty() || dims.size() > 2 || dims.back() != features) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has shape ", DimsString(dims), ", the model has ", features, " features"));
  }
  return dims.size() == 1 ? 1 : dims[0];
}

void SvmModel::ForEachRow(const RunContext& context,
                          absl::FunctionRef<void(int64_t, const double*, double*)> body) const {
  const int64_t grain =
      std::max<int64_t>(1, kGrain / (features * std::max<int64_t>(1, num_vectors)));
  context.ParallelForWorkers(
      context.output(0).dim(0), grain, [&](int worker, int64_t begin, int64_t end) {
        double* x = context.scratch<double>() + worker * (features + num_vectors);
        for (int64_t row = begin; row < end; ++row) {
          read(context.input(0).data, row * features, features, x);
          body(row, x, x + features);
        }
      });
}

absl::StatusOr<SvmModel> ReadSvmModel(const NodeSpec& spec, int64_t num_vectors,
                                      int64_t linear_outputs) {
  const Attributes& attributes = spec.attributes();
  SvmModel model;
  model.num_vectors = num_vectors;
  model.coefficients = attributes.Floats("coefficients");
  const std::vector<float> vectors =
      num_vectors > 0 ? attributes.Floats("support_vectors") : model.coefficients;
  model.vectors.assign(vectors.begin(), vectors.end());
  model.rho = attributes.Floats("rho");
  model.read = ReaderOfNumbers(spec.input_dtype(0));
  if (model.read == nullptr) return absl::UnimplementedError("dtype");
  ONWARD_ASSIGN_OR_RETURN(model.transform,
                          PostTransformFromName(attributes.String("post_transform", "NONE")));
  const std::vector<float> parameters = attributes.Floats("kernel_params");
  if (!parameters.empty() && parameters.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_params has ", parameters.size(), " values, not gamma, coef0, degree"));
  }
  if (!parameters.empty()) {
    model.gamma = static_cast<double>(parameters[0]);
    model.coef0 = static_cast<double>(parameters[1]);
    model.degree = static_cast<double>(parameters[2]);
  }
  const auto available = static_cast<int64_t>(model.vectors.size());
  const int64_t rows = num_vectors > 0 ? num_vectors : linear_outputs;
  if (rows < 1 || available < 1 || available % rows != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(available, num_vectors > 0 ? " support_vectors" : " coefficients", " for ",
                     rows, num_vectors > 0 ? " vectors" : " outputs"));
  }
  model.features = available / rows;
  model.dots = &kDotsOfRowsPerTarget.For(VectorTarget())();
  if (num_vectors > 0) {
    ONWARD_ASSIGN_OR_RETURN(model.kernel,
                            KernelFromName(attributes.String("kernel_type", "LINEAR")));
  }
  return model;
}

}  // namespace onward::kernels::cpu
