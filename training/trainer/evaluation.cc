#include "training/trainer/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/metrics/metrics.h"
#include "training/rewrite/training_names.h"
#include "training/step/step_outputs.h"

namespace onward::training {
namespace {

constexpr int64_t kUncounted = -1;  // a binary target between 0 and 1

// Targets and predictions as int64, in the order of their elements.
absl::StatusOr<std::vector<int64_t>> Classes(const Tensor& tensor) {
  std::vector<int64_t> classes(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (tensor.dtype() == DType::kInt64)
      classes[i] = tensor.data<int64_t>()[i];
    else if (tensor.dtype() == DType::kInt32)
      classes[i] = tensor.data<int32_t>()[i];
    else if (tensor.dtype() == DType::kUint8)
      classes[i] = tensor.data<uint8_t>()[i];
    else
      return absl::InvalidArgumentError(absl::StrCat("classes must be int64, int32 or uint8, got ",
                                                     std::string(DTypeName(tensor.dtype()))));
  }
  return classes;
}

// The targets of bce, whatever their type.
std::vector<int64_t> BinaryTargets(const Tensor& tensor) {
  std::vector<int64_t> classes(static_cast<size_t>(tensor.num_elements()), kUncounted);
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = tensor.view().as<const T>();
    for (size_t i = 0; i < classes.size(); ++i) {
      const auto value = static_cast<float>(elements[i]);
      if (value == 0 || value == 1) classes[i] = value == 1 ? 1 : 0;
    }
  });
  return classes;
}

absl::Status Count(const Tensor& target, const Tensor& prediction, const LossConfig& loss,
                   Evaluation& evaluation) {
  const bool binary = HasBinaryTargets(loss);
  if (!binary && !IsInteger(target.dtype())) return absl::OkStatus();  // probabilities
  std::vector<int64_t> targets;
  if (binary) {
    targets = BinaryTargets(target);
  } else {
    ONWARD_ASSIGN_OR_RETURN(targets, Classes(target));
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> predictions, Classes(prediction));
  if (targets.size() != predictions.size()) return absl::OkStatus();  // targets are probabilities
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == (binary ? kUncounted : IgnoredTarget(loss))) continue;
    ++evaluation.targets;
    evaluation.right += targets[i] == predictions[i];
    ++evaluation.confusion[{targets[i], predictions[i]}];
  }
  return absl::OkStatus();
}

// A value that is not finite (log.detect_anomaly) with the place of the data that were so already.
absl::Status NameNonFinite(const absl::Status& status, const Batch& batch, const Loader& loader) {
  if (!absl::IsFailedPrecondition(status)) return status;
  const std::string where = NonFinitePlace(batch, loader.places());
  if (where.empty()) return status;
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), "; the data are not finite already: ", where));
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(Loader& loader, const EvaluationConfig& config,
                                    const LossConfig& loss, const EvaluatedPhase& phase,
                                    const std::map<std::string, MetricFactory>& own) {
  ONWARD_ASSIGN_OR_RETURN(const auto metrics, MakeMetrics(config, loss, own));
  const StepOutputs& at = phase.outputs;
  TrainingSession::Outputs outputs;
  Evaluation evaluation;
  loader.Seek(0, 0);
  double sum = 0, count = 0;
  for (int64_t i = 0; i < loader.batches_per_epoch() && loader.position().epoch == 0; ++i) {
    ONWARD_ASSIGN_OR_RETURN(const Batch batch, loader.Next());
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(phase.inputs, batch, config.data()));
    if (const absl::Status ran = phase.run(given, outputs); !ran.ok())
      return NamePlace(NameNonFinite(ran, batch, loader), batch, loader.places());
    const int64_t examples = batch.begin()->second.dims()[0];
    const double value = LossOf(at, outputs);
    if (!std::isfinite(value) && evaluation.not_finite.empty())
      evaluation.not_finite = NonFinitePlace(batch, loader.places());
    const double factor = at.count || SumsLoss(loss) ? 1 : static_cast<double>(examples);
    sum += value * factor;
    evaluation.losses.resize(at.losses.size());
    for (size_t j = 0; j < at.losses.size(); ++j)
      evaluation.losses[j] += factor * NumberAt(outputs, at.losses[j]);
    count +=
        at.count ? outputs[*at.count].tensor().data<double>()[0] : static_cast<double>(examples);
    evaluation.examples += examples;
    const auto target = std::find_if(given.begin(), given.end(), [&](const auto& each) {
      return UserName(each.first) == loss.target();
    });
    if (target == given.end()) continue;
    const Tensor& targets = target->second.tensor();
    if (at.prediction)
      ONWARD_RETURN_IF_ERROR(Count(targets, outputs[*at.prediction].tensor(), loss, evaluation));
    for (const auto& [name, metric] : metrics)
      ONWARD_RETURN_IF_ERROR(Annotate(metric->Add(outputs[*at.scores].tensor(), targets),
                                      absl::StrCat("evaluation: ", name, ":")));
  }
  if (evaluation.examples > 0) {
    evaluation.loss = sum / count;
    for (double& each : evaluation.losses) each /= count;
  }
  for (const std::string& name : MetricNames(config)) {
    const auto of_scores = metrics.find(name);
    const std::optional<double> value =
        of_scores == metrics.end() ? ValueOf(name, evaluation) : of_scores->second->Value();
    if (value && name != "accuracy") evaluation.metrics[name] = *value;
  }
  return evaluation;
}

}  // namespace onward::training
