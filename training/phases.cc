#include "training/phases.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executors/session.h"
#include "graph/base/name_pattern.h"
#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "graph/rewrite/keep_outputs.h"
#include "training/autocast.h"
#include "training/clip.h"
#include "training/config/make_loss.h"
#include "training/gradient/gradient.h"
#include "training/loss_scale.h"
#include "training/mode.h"
#include "training/state.h"
#include "training/trainable.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT: reads as formulas

constexpr char kOutputKind[] = "output";

// --- the loss

// The name of the output that the loss is of, or is.
absl::StatusOr<std::string> ScoredOutput(const Graph& graph, const LossConfig& loss) {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  if (!loss.has_output()) {
    if (names.size() == 1) return names[0];
    return absl::InvalidArgumentError(
        absl::StrCat("loss.output must say which of the model's outputs is scored: ",
                     absl::StrJoin(names, ", ")));
  }
  if (std::find(names.begin(), names.end(), loss.output()) != names.end()) return loss.output();
  return absl::InvalidArgumentError(absl::StrCat("loss.output: the model has no output '",
                                                 loss.output(), "'; it has ",
                                                 absl::StrJoin(names, ", ")));
}

// A field of the data as an input: the field's type with a batch before it. `setting` names it.
absl::StatusOr<ValueId> FieldInput(Graph& graph, const char* setting, const std::string& name,
                                   absl::Span<const Field> fields) {
  const ValueId known = graph.FindValue(name);
  if (known.valid() && graph.is_input(known)) return known;
  std::vector<std::string> names;
  for (const Field& field : fields) {
    names.push_back(field.name);
    if (field.name != name) continue;
    Type type = field.type;
    Dim batch = ParseDim("batch");
    for (const ValueId input : graph.inputs()) {
      const Type& given = graph.type(input);
      if (!graph.is_constant(input) && given.shape && !given.shape->empty()) {
        batch = (*given.shape)[0];
        break;
      }
    }
    type.shape->insert(type.shape->begin(), batch);
    if (known.valid()) graph.Rename(known, graph.UniqueName(name + "/model"));
    return graph.AddInput(name, type);
  }
  return absl::InvalidArgumentError(absl::StrCat(setting, ": the data has no field '", name,
                                                 "'; it has ", absl::StrJoin(names, ", ")));
}

struct Scored {
  Expr loss, scores;
};

absl::Status NameOutput(Graph& graph, const Expr& value, const std::string& name) {
  const ValueId old = graph.FindValue(name);
  if (old.valid() && old != value.id()) graph.Rename(old, graph.UniqueName(name + "/model"));
  graph.Rename(value.id(), name);
  graph.AddOutput(value.id());
  return absl::OkStatus();
}

// Adds the loss of the output `scored`, as output "loss".
absl::StatusOr<Scored> AddLoss(GraphSink& sink, const LossConfig& config, const std::string& scored,
                               absl::Span<const Field> fields) {
  Graph& graph = sink.graph();
  Scored made;
  made.scores = sink.Value(graph.FindValue(scored));
  if (config.kind() == kOutputKind) {
    made.loss = Identity(made.scores);
  } else {
    LossOperands operands{made.scores, {}, {}, {}};
    const auto field = [&](const char* setting, const std::string& name, Expr& value) {
      if (name.empty()) return absl::OkStatus();
      ONWARD_ASSIGN_OR_RETURN(const ValueId id, FieldInput(graph, setting, name, fields));
      value = sink.Value(id);
      return absl::OkStatus();
    };
    ONWARD_RETURN_IF_ERROR(field("loss.target", config.target(), operands.target));
    ONWARD_RETURN_IF_ERROR(field("loss.frames", config.frames(), operands.frames));
    ONWARD_RETURN_IF_ERROR(field("loss.lengths", config.lengths(), operands.lengths));
    ONWARD_ASSIGN_OR_RETURN(made.loss, MakeLoss(config, operands));
  }
  const Type& type = made.loss.type();
  const auto dims = type.static_dims();
  if (dims ? NumElements(*dims) != 1 : type.shape && !type.shape->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss '", scored, "' is ", type.ToString(), ", no scalar"));
  }
  made.loss = Reshape(Cast(made.loss, DType::kFloat32), sink.Ints({}));
  ONWARD_RETURN_IF_ERROR(sink.status());
  ONWARD_RETURN_IF_ERROR(NameOutput(graph, made.loss, "loss"));
  return made;
}

// To what `precision` asks for, before the loss is added: that one is float32.
absl::Status ApplyPrecision(Model& model, const PrecisionConfig& precision) {
  if (precision.autocast() == PrecisionConfig::FLOAT32) return absl::OkStatus();
  return Autocast(
      model, precision.autocast() == PrecisionConfig::FLOAT16 ? DType::kFloat16 : DType::kBFloat16);
}

// Leaves the outputs of these names (patterns), the updates and what they need.
absl::Status KeepNamedOutputs(Model& model, const std::vector<std::string>& names) {
  std::vector<int> kept;
  const std::vector<ValueId>& outputs = model.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool updates = std::any_of(model.updates.begin(), model.updates.end(),
                                     [&](const auto& each) { return each.output == outputs[i]; });
    const std::string& name = model.graph.value(outputs[i]).name;
    const bool wanted = std::any_of(names.begin(), names.end(),
                                    [&](const auto& each) { return MatchesPattern(name, each); });
    if (updates || wanted) kept.push_back(static_cast<int>(i));
  }
  std::vector<ValueId> moved;
  ONWARD_ASSIGN_OR_RETURN(model.graph, KeepOutputs(std::move(model.graph), kept, &moved));
  for (UpdateBinding& update : model.updates) {
    update.input = moved[static_cast<size_t>(update.input.index)];
    update.output = moved[static_cast<size_t>(update.output.index)];
  }
  return absl::OkStatus();
}

// --- the update of the weights

// What changes between steps, of the kinds that the config asks for.
class UpdateWriter {
 public:
  UpdateWriter(Model& model, const TrainConfig& config, bool portable)
      : model_(model), config_(config), portable_(portable) {}

  // `gradients` are in the order of `parameters`.
  absl::Status Write(const std::vector<ValueId>& parameters, const std::vector<ValueId>& gradients,
                     TrainingPhases& phases) {
    GraphSink sink(model_.graph, "update/");
    std::vector<Expr> clipped;
    for (const ValueId id : gradients) clipped.push_back(sink.Value(id));
    if (ScalesLoss(config_)) {
      UnscaledGradients unscaled = Unscale(sink, clipped);
      clipped = std::move(unscaled.gradients);
      ONWARD_RETURN_IF_ERROR(sink.status());
      ONWARD_RETURN_IF_ERROR(NameOutput(model_.graph, unscaled.finite, kGradientsFinite));
    }
    if (config_.log().gradient_norms()) {
      for (size_t i = 0; i < clipped.size(); ++i) {
        const Expr square = clipped[i] * clipped[i];
        const Expr norm = Cast(Sqrt(ReduceSum(square, {}, false)), DType::kFloat32);
        ONWARD_RETURN_IF_ERROR(sink.status());
        ONWARD_RETURN_IF_ERROR(
            NameOutput(model_.graph, norm, kGradientNormPrefix + phases.parameters[i]));
      }
    }
    if (config_.log().has_histogram_steps()) {
      for (size_t i = 0; i < clipped.size(); ++i) {
        const Expr value = Identity(Cast(clipped[i], DType::kFloat32));
        ONWARD_RETURN_IF_ERROR(sink.status());
        ONWARD_RETURN_IF_ERROR(
            NameOutput(model_.graph, value, kGradientValuePrefix + phases.parameters[i]));
      }
    }
    const ClipConfig& clip = config_.clip();
    if (clip.has_value()) clipped = ClipByValue(clipped, clip.value());
    if (clip.has_norm()) clipped = ClipEachByNorm(clipped, clip.norm());
    if (clip.has_global_norm()) {
      ClippedGradients by_norm = ClipByGlobalNorm(clipped, clip.global_norm());
      clipped = std::move(by_norm.gradients);
      ONWARD_RETURN_IF_ERROR(sink.status());
      ONWARD_RETURN_IF_ERROR(NameOutput(model_.graph, by_norm.norm, "gradient_norm"));
    }
    ONWARD_RETURN_IF_ERROR(sink.status());
    ONWARD_RETURN_IF_ERROR(WriteGroups(parameters, clipped, phases));
    return config_.has_average() ? WriteAverages(phases.parameters) : absl::OkStatus();
  }

 private:
  bool IsIn(const ParameterGroupConfig& group, ValueId parameter) const {
    const std::vector<std::string> patterns(group.parameters().begin(), group.parameters().end());
    const auto rank = static_cast<int32_t>(model_.graph.type(parameter).shape->size());
    return (patterns.empty() || MatchesAny(model_.graph.value(parameter).name, patterns)) &&
           (!group.has_least_rank() || rank >= group.least_rank()) &&
           (!group.has_most_rank() || rank <= group.most_rank());
  }

  absl::Status WriteGroups(const std::vector<ValueId>& parameters,
                           const std::vector<Expr>& gradients, TrainingPhases& phases) {
    const auto& configs = config_.optimizer().group();
    std::vector<ParameterGroup> groups(static_cast<size_t>(configs.size()) + 1);
    for (int i = 0; i < configs.size(); ++i) {
      groups[static_cast<size_t>(i)].name = absl::StrCat("group", i);
      groups[static_cast<size_t>(i)].options = {configs[i].options().begin(),
                                                configs[i].options().end()};
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
      size_t chosen = 0;
      while (chosen + 1 < groups.size() && !IsIn(configs[static_cast<int>(chosen)], parameters[p]))
        ++chosen;
      groups[chosen].parameters.push_back(parameters[p]);
      groups[chosen].gradients.push_back(gradients[p].id());
    }
    OptimizerConfig optimizer;
    optimizer.portable = portable_;
    optimizer.name = config_.optimizer().name();
    optimizer.options = {config_.optimizer().options().begin(),
                         config_.optimizer().options().end()};
    ONWARD_ASSIGN_OR_RETURN(phases.groups, AddOptimizer(model_, optimizer, groups));
    return absl::OkStatus();
  }

  // average += weight * (next - average), of every trained parameter.
  absl::Status WriteAverages(const std::vector<std::string>& names) {
    Graph& graph = model_.graph;
    GraphSink sink(graph, "average/");
    const Expr weight = sink.Value(AddState(graph, "average/weight", Tensor::Scalar(0.0)));
    std::map<ValueId, ValueId> next_of;
    for (const UpdateBinding& update : model_.updates) next_of[update.input] = update.output;
    for (const std::string& name : names) {
      const ValueId parameter = graph.FindValue(name);
      const ValueId average = AddState(graph, kAveragePrefix + name, *graph.constant(parameter));
      const Expr old = sink.Value(average);
      const Expr next = old + Cast(weight, old.dtype()) * (sink.Value(next_of.at(parameter)) - old);
      ONWARD_RETURN_IF_ERROR(sink.status());
      AddUpdate(model_, average, next.id());
    }
    return absl::OkStatus();
  }

  Model& model_;
  const TrainConfig& config_;
  const bool portable_;
};

// --- the phases

Tensor Zeros(DType dtype, DimsView dims) {
  Tensor zeros(dtype, dims);
  std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
  return zeros;
}

bool NeedsApply(const TrainConfig& config) { return config.accumulate() > 1; }

// Adds what each run adds to the sum of gradients, as state of zeros.
absl::Status Accumulate(Model& model, const std::vector<std::string>& names,
                        const std::vector<ValueId>& gradients) {
  GraphSink sink(model.graph, "accumulate/");
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Type& type = model.graph.type(gradients[i]);
    const ValueId sum =
        AddState(model.graph, "gradient/" + names[i], Zeros(type.dtype, *type.static_dims()));
    const Expr next = sink.Value(sum) + sink.Value(gradients[i]);
    ONWARD_RETURN_IF_ERROR(sink.status());
    AddUpdate(model, sum, next.id());
  }
  return absl::OkStatus();
}

// The graph that updates `names` from the sums that Accumulate() made, which it clears.
absl::StatusOr<Model> ApplyPhase(const Model& accumulating, const std::vector<std::string>& names,
                                 const TrainConfig& config, bool portable, TrainingPhases& phases) {
  Model model;
  model.opsets = accumulating.opsets;
  model.graph.name = "apply";
  std::vector<ValueId> parameters, gradients;
  for (const std::string& name : names) {
    const ValueId id = accumulating.graph.FindValue(name);
    parameters.push_back(AddState(model.graph, name, *accumulating.graph.constant(id)));
    const Tensor& like = *accumulating.graph.constant(id);
    gradients.push_back(
        AddState(model.graph, "gradient/" + name, Zeros(like.dtype(), like.dims())));
  }
  ONWARD_RETURN_IF_ERROR(
      UpdateWriter(model, config, portable).Write(parameters, gradients, phases));
  GraphSink sink(model.graph, "clear/");
  for (const ValueId gradient : gradients) {
    const Expr zero = ZerosLike(sink.Value(gradient));
    ONWARD_RETURN_IF_ERROR(sink.status());
    AddUpdate(model, gradient, zero.id());
  }
  ONWARD_RETURN_IF_ERROR(
      KeepNamedOutputs(model, {"gradient_norm*", "gradient_value/*", kGradientsFinite}));
  return model;
}

// Evaluates with the weights that are state elsewhere, or with their averages.
absl::StatusOr<Model> EvaluatePhase(const TrainableModel& trained, const TrainConfig& config,
                                    absl::Span<const Field> fields,
                                    const std::vector<std::string>& state,
                                    const std::vector<std::string>& averaged) {
  Model model = trained.model;
  ONWARD_RETURN_IF_ERROR(SetInferenceMode(model).status());
  for (const std::string& name : state) {
    const ValueId constant = model.graph.FindValue(name);
    if (!model.graph.is_constant(constant)) continue;
    const ValueId input = ConstantToState(model.graph, constant);
    if (std::find(averaged.begin(), averaged.end(), name) != averaged.end())
      model.graph.Rename(input, kAveragePrefix + name);
  }
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(model, config.precision()));
  GraphSink sink(model.graph, "loss/");
  ONWARD_ASSIGN_OR_RETURN(const std::string output,
                          ScoredOutput(trained.model.graph, config.loss()));
  ONWARD_ASSIGN_OR_RETURN(const Scored scored, AddLoss(sink, config.loss(), output, fields));
  if (HasClasses(config.loss())) {
    const Expr prediction = PredictedClass(config.loss(), scored.scores);
    ONWARD_RETURN_IF_ERROR(sink.status());
    ONWARD_RETURN_IF_ERROR(NameOutput(model.graph, prediction, "prediction"));
  }
  ONWARD_RETURN_IF_ERROR(KeepNamedOutputs(model, {"loss", "prediction"}));
  return model;
}

// The share of the loss that flows back: 1 / accumulate, scaled.
ValueId Cotangent(GraphSink& sink, const TrainConfig& config) {
  const Expr share = sink.Scalar(1.0 / static_cast<double>(config.accumulate()), DType::kFloat32);
  return (ScalesLoss(config) ? LossScaleInput(sink) * share : share).id();
}

}  // namespace

absl::StatusOr<TrainingPhases> MakeTrainingPhases(const TrainableModel& trained,
                                                  const TrainConfig& config,
                                                  absl::Span<const Field> fields, bool portable) {
  TrainingPhases phases;
  Model step = trained.model;
  TrainingModeOptions mode;
  mode.frozen = {config.inference_mode().begin(), config.inference_mode().end()};
  ONWARD_RETURN_IF_ERROR(SetTrainingMode(step, mode).status());
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(step, config.precision()));
  GraphSink sink(step.graph, "loss/");
  ONWARD_ASSIGN_OR_RETURN(const std::string output,
                          ScoredOutput(trained.model.graph, config.loss()));
  ONWARD_ASSIGN_OR_RETURN(const Scored scored, AddLoss(sink, config.loss(), output, fields));
  const std::vector<std::string> trainable(config.trainable().begin(), config.trainable().end());
  const std::vector<std::string> frozen(config.frozen().begin(), config.frozen().end());
  ONWARD_ASSIGN_OR_RETURN(
      const std::vector<ValueId> parameters,
      TrainableParameters(step, trained.initializers, scored.loss.id(), trainable, frozen));
  for (const ValueId id : parameters) phases.parameters.push_back(step.graph.value(id).name);
  GradientOptions options;
  options.allow_onward_ops = !portable;
  ONWARD_ASSIGN_OR_RETURN(
      const std::vector<ValueId> gradients,
      AddGradients(step.graph, {{scored.loss.id(), Cotangent(sink, config)}}, parameters, options));
  if (NeedsApply(config)) {
    ONWARD_RETURN_IF_ERROR(Accumulate(step, phases.parameters, gradients));
    ONWARD_ASSIGN_OR_RETURN(Model apply,
                            ApplyPhase(step, phases.parameters, config, portable, phases));
    for (const ValueId id : parameters) ConstantToState(step.graph, id);
    ONWARD_RETURN_IF_ERROR(KeepNamedOutputs(step, {"loss"}));
    phases.models.push_back(std::move(step));
    phases.apply = phases.models.size();
    phases.models.push_back(std::move(apply));
  } else {
    ONWARD_RETURN_IF_ERROR(
        UpdateWriter(step, config, portable).Write(parameters, gradients, phases));
    ONWARD_RETURN_IF_ERROR(
        KeepNamedOutputs(step, {"loss", "gradient_norm*", "gradient_value/*", kGradientsFinite}));
    phases.models.push_back(std::move(step));
  }
  std::vector<std::string> state;
  for (const Model& model : phases.models) {
    for (const UpdateBinding& update : model.updates)
      state.push_back(model.graph.value(update.input).name);
  }
  phases.evaluate = phases.models.size();
  ONWARD_ASSIGN_OR_RETURN(Model evaluate, EvaluatePhase(trained, config, fields, state, {}));
  phases.models.push_back(std::move(evaluate));
  if (config.has_average()) {
    phases.evaluate_average = phases.models.size();
    ONWARD_ASSIGN_OR_RETURN(Model average,
                            EvaluatePhase(trained, config, fields, state, phases.parameters));
    phases.models.push_back(std::move(average));
  }
  return phases;
}

}  // namespace onward
