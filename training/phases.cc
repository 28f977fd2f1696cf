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
#include "graph/builder/nn/row_norm.h"
#include "graph/rewrite/keep_outputs.h"
#include "training/autocast.h"
#include "training/config/make_loss.h"
#include "training/fuse_attention.h"
#include "training/gradient/gradient.h"
#include "training/loss_scale.h"
#include "training/mode.h"
#include "training/phase_update.h"
#include "training/state.h"
#include "training/trainable.h"
#include "training/training_names.h"

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
  if (IsTrainingName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        setting, ": '", name, "' is the name of a value that training adds; rename the field"));
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

// --- the phases

Tensor Zeros(DType dtype, DimsView dims) {
  Tensor zeros(dtype, dims);
  std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
  return zeros;
}

bool NeedsApply(const TrainConfig& config) { return config.accumulate() > 1 && !IsLbfgs(config); }

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
  ONWARD_RETURN_IF_ERROR(WriteUpdate(model, config, portable, parameters, gradients, phases));
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
  ONWARD_ASSIGN_OR_RETURN(std::string output, ScoredOutput(trained.model.graph, config.loss()));
  ONWARD_ASSIGN_OR_RETURN(output, FreeTrainingNames(model.graph, output, trained.initializers));
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
  ONWARD_ASSIGN_OR_RETURN(std::string output, ScoredOutput(trained.model.graph, config.loss()));
  ONWARD_ASSIGN_OR_RETURN(output, FreeTrainingNames(step.graph, output, trained.initializers));
  TrainingModeOptions mode;
  mode.frozen = {config.inference_mode().begin(), config.inference_mode().end()};
  ONWARD_RETURN_IF_ERROR(SetTrainingMode(step, mode).status());
  const std::vector<std::string> trainable(config.trainable().begin(), config.trainable().end());
  if (!portable && SessionPrecision(config) != Precision::kStrict)
    ONWARD_RETURN_IF_ERROR(
        FuseAttention(step, MayBeTrained(step, trained.initializers, trainable)));
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(step, config.precision()));
  GraphSink sink(step.graph, "loss/");
  ONWARD_ASSIGN_OR_RETURN(const Scored scored, AddLoss(sink, config.loss(), output, fields));
  const std::vector<std::string> frozen(config.frozen().begin(), config.frozen().end());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> parameters,
                          TrainableParameters(step, trained.initializers, scored.loss.id(),
                                              trainable, frozen, &phases.choices));
  for (const ValueId id : parameters) phases.parameters.push_back(step.graph.value(id).name);
  for (int i = 0; i < config.optimizer().group_size(); ++i) {
    const auto& given = config.optimizer().group(i).parameters();
    const std::vector<std::string> patterns(given.begin(), given.end());
    ONWARD_RETURN_IF_ERROR(CheckPatterns(
        patterns, absl::StrCat("optimizer.group[", i, "].parameters"), trained.initializers));
  }
  GradientOptions options;
  options.allow_onward_ops = !portable;
  ONWARD_ASSIGN_OR_RETURN(
      const std::vector<ValueId> gradients,
      AddGradients(step.graph, {{scored.loss.id(), Cotangent(sink, config)}}, parameters, options));
  if (NeedsApply(config)) {
    ONWARD_RETURN_IF_ERROR(Accumulate(step, phases.parameters, gradients));
    ONWARD_ASSIGN_OR_RETURN(Model apply,
                            ApplyPhase(step, phases.parameters, config, portable, phases));
    for (const ValueId id : parameters) {
      const ValueId state = ConstantToState(step.graph, id);
      const Expr bounded = nn::BoundedTable(sink, state);
      ONWARD_RETURN_IF_ERROR(sink.status());
      if (bounded.valid()) AddUpdate(step, state, bounded.id());
    }
    ONWARD_RETURN_IF_ERROR(KeepNamedOutputs(step, {"loss"}));
    phases.models.push_back(std::move(step));
    phases.apply = phases.models.size();
    phases.models.push_back(std::move(apply));
  } else {
    ONWARD_RETURN_IF_ERROR(WriteUpdate(step, config, portable, parameters, gradients, phases));
    ONWARD_RETURN_IF_ERROR(KeepNamedOutputs(step, {"loss", "gradient_norm*", "gradient_value/*",
                                                   "lbfgs_gradient/*", kGradientsFinite}));
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
