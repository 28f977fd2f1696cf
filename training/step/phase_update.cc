#include "training/step/phase_update.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/rewrite/state.h"
#include "onward/dtype.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/config/make_optimizer.h"
#include "training/rewrite/clip.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/names.h"
#include "training/rewrite/training_names.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// Writes the changes between steps, of the kinds that the config asks for.
class UpdateWriter {
 public:
  UpdateWriter(Model& model, const TrainConfig& config, bool portable, PhaseIds& ids)
      : model_(model), config_(config), portable_(portable), ids_(ids) {}

  // `gradients` are in the order of `parameters`.
  absl::Status Write(const std::vector<ValueId>& parameters, const std::vector<ValueId>& gradients,
                     TrainingPhases& phases) {
    GraphSink sink(model_.graph, "update/");
    std::vector<Expr> clipped;
    for (const ValueId id : gradients) clipped.push_back(sink.Value(id));
    if (ScalesLoss(config_)) {
      UnscaledGradients unscaled = Unscale(sink, clipped, ids_.inputs.loss_scale);
      clipped = std::move(unscaled.gradients);
      ONWARD_RETURN_IF_ERROR(sink.status());
      ids_.outputs.gradients_finite =
          AddNamedOutput(model_.graph, unscaled.finite.id(), kGradientsFinite);
    }
    if (config_.log().gradient_norms()) {
      for (size_t i = 0; i < clipped.size(); ++i) {
        const Expr square = clipped[i] * clipped[i];
        const Expr norm = Cast(Sqrt(ReduceSum(square, {}, false)), DType::kFloat32);
        ONWARD_RETURN_IF_ERROR(sink.status());
        ids_.outputs.gradient_norms.push_back(
            AddNamedOutput(model_.graph, norm.id(), kGradientNormPrefix + phases.parameters[i]));
      }
    }
    if (config_.log().has_histogram_steps()) {
      for (size_t i = 0; i < clipped.size(); ++i) {
        const Expr value = Identity(Cast(clipped[i], DType::kFloat32));
        ONWARD_RETURN_IF_ERROR(sink.status());
        ids_.outputs.gradient_values.push_back(
            AddNamedOutput(model_.graph, value.id(), kGradientValuePrefix + phases.parameters[i]));
      }
    }
    const ClipConfig& clip = config_.clip();
    if (clip.has_value()) clipped = ClipByValue(clipped, clip.value());
    if (clip.has_norm()) clipped = ClipEachByNorm(clipped, clip.norm());
    if (clip.has_global_norm()) {
      ClippedGradients by_norm = ClipByGlobalNorm(clipped, clip.global_norm());
      clipped = std::move(by_norm.gradients);
      const Expr norm = by_norm.norm.dtype() == DType::kFloat32
                            ? by_norm.norm
                            : Cast(by_norm.norm, DType::kFloat32);
      ONWARD_RETURN_IF_ERROR(sink.status());
      ids_.outputs.gradient_norm = AddNamedOutput(model_.graph, norm.id(), kGradientNorm);
    }
    ONWARD_RETURN_IF_ERROR(sink.status());
    if (IsLbfgs(config_)) return WriteForLbfgs(sink, parameters, clipped, phases);
    ONWARD_RETURN_IF_ERROR(WriteGroups(parameters, clipped, phases));
    return config_.has_average() ? WriteAverages(phases) : absl::OkStatus();
  }

 private:
  bool IsIn(const ParameterGroupConfig& group, ValueId parameter) const {
    const std::vector<std::string> patterns(group.parameters().begin(), group.parameters().end());
    const auto rank = static_cast<int32_t>(model_.graph.type(parameter).shape->size());
    return (patterns.empty() || MatchesAny(model_.graph.value(parameter).name, patterns)) &&
           (!group.has_least_rank() || rank >= group.least_rank()) &&
           (!group.has_most_rank() || rank <= group.most_rank());
  }

  // Parameters are state that each run leaves as it is.
  absl::Status WriteForLbfgs(GraphSink& sink, const std::vector<ValueId>& parameters,
                             const std::vector<Expr>& gradients, TrainingPhases& phases) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Expr gradient = Identity(gradients[i]);
      const ValueId state = ConstantToState(model_.graph, parameters[i]);
      const Expr same = Identity(sink.Value(state));
      ONWARD_RETURN_IF_ERROR(sink.status());
      ids_.outputs.lbfgs_gradients.push_back(
          AddNamedOutput(model_.graph, gradient.id(), kLbfgsGradientPrefix + phases.parameters[i]));
      AddUpdate(model_, state, same.id());
    }
    phases.groups = {{"", {"lr"}, {config_.optimizer().lbfgs().lr()}}};
    return absl::OkStatus();
  }

  absl::Status WriteGroups(const std::vector<ValueId>& parameters,
                           const std::vector<Expr>& gradients, TrainingPhases& phases) {
    const auto& configs = config_.optimizer().group();
    std::vector<ParameterGroup> groups(static_cast<size_t>(configs.size()) + 1);
    for (int i = 0; i < configs.size(); ++i) {
      groups[static_cast<size_t>(i)].name = absl::StrCat("group", i);
      groups[static_cast<size_t>(i)].options = GroupOptions(configs[i]);
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
      size_t chosen = 0;
      while (chosen + 1 < groups.size() && !IsIn(configs[static_cast<int>(chosen)], parameters[p]))
        ++chosen;
      groups[chosen].parameters.push_back(parameters[p]);
      groups[chosen].gradients.push_back(gradients[p].id());
    }
    for (int i = 0; i < configs.size(); ++i)
      if (groups[static_cast<size_t>(i)].parameters.empty()) phases.empty_groups.push_back(i);
    OptimizerConfig optimizer = MakeOptimizer(config_.optimizer());
    optimizer.portable = portable_;
    ONWARD_ASSIGN_OR_RETURN(phases.groups, AddOptimizer(model_, optimizer, groups));
    for (const GroupSettings& group : phases.groups)
      ids_.inputs.settings.push_back(model_.graph.FindValue(group.input));
    return absl::OkStatus();
  }

  // average += weight * (next - average), of every trained parameter. Of exponential averages also
  // of the buffers; uniform ones take the buffers as they are (AveragedModel's use_buffers).
  absl::Status WriteAverages(const TrainingPhases& phases) {
    Graph& graph = model_.graph;
    GraphSink sink(graph, "average/");
    ids_.inputs.average_weight = AddState(graph, kAverageWeight, Tensor::Scalar(0.0));
    const Expr weight = sink.Value(*ids_.inputs.average_weight);
    const Expr any = Greater(weight, ScalarLike(weight, 0));
    const bool uniform = config_.average().kind() == AverageConfig::UNIFORM;
    std::map<ValueId, ValueId> next_of;
    for (const UpdateBinding& update : model_.updates) next_of[update.input] = update.output;
    const auto write = [&](const std::string& name, bool copies) {
      const ValueId source = graph.FindValue(name);
      if (!IsFloating(graph.type(source).dtype)) return absl::OkStatus();
      const ValueId average = AddState(graph, kAveragePrefix + name, *graph.constant(source));
      const Expr old = sink.Value(average);
      // A value that another phase updates stays as that left it.
      const auto next = next_of.find(source);
      const Expr now = sink.Value(next == next_of.end() ? source : next->second);
      const Expr value =
          copies ? Where(any, now, old) : old + Cast(weight, old.dtype()) * (now - old);
      ONWARD_RETURN_IF_ERROR(sink.status());
      AddUpdate(model_, average, value.id());
      return absl::OkStatus();
    };
    for (const std::string& name : phases.parameters) ONWARD_RETURN_IF_ERROR(write(name, false));
    for (const std::string& name : phases.buffers) ONWARD_RETURN_IF_ERROR(write(name, uniform));
    return absl::OkStatus();
  }

  Model& model_;
  const TrainConfig& config_;
  const bool portable_;
  PhaseIds& ids_;
};

}  // namespace

absl::Status WriteUpdate(Model& model, const TrainConfig& config, bool portable,
                         const std::vector<ValueId>& parameters,
                         const std::vector<ValueId>& gradients, TrainingPhases& phases,
                         PhaseIds& ids) {
  return UpdateWriter(model, config, portable, ids).Write(parameters, gradients, phases);
}

}  // namespace onward::training
