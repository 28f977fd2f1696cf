#include "training/step/phases.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/name_pattern.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/keep_outputs.h"
#include "graph/rewrite/state.h"
#include "nn/row_norm.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/gradient/plain_identities.h"
#include "training/prepare/mode.h"
#include "training/prepare/trainable.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/all_reduce.h"
#include "training/rewrite/autocast.h"
#include "training/rewrite/fuse_attention.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/portable_checks.h"
#include "training/rewrite/training_names.h"
#include "training/step/phase_update.h"
#include "training/step/running_statistics.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT: reads as formulas

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
  // A weight, which is or becomes state by that name.
  const bool is_weight =
      (known.valid() && graph.is_constant(known)) || graph.FindValue(kAveragePrefix + name).valid();
  if (known.valid() && graph.is_input(known) && !is_weight) return known;
  for (const ValueId input : graph.inputs())
    if (IsTrainingName(name) && UserName(graph.value(input).name) == name) return input;
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
    if (is_weight || IsTrainingName(name))
      return GraphEdit(graph).AddInput(NameInTraining(graph, name), type);
    if (known.valid()) GraphEdit(graph).Rename(known, NameInTraining(graph, name));
    return GraphEdit(graph).AddInput(name, type);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(setting, ": the data has no field '", name, "'; it has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

struct Scored {
  Expr loss, scores;  // `loss`: what is differentiated
  Expr count;         // of a loss in parts, see LossParts
};

// How the loss of a batch is made.
struct LossForm {
  bool parts = false;       // the sum over targets, with their count as output kLossCount
  bool all_reduce = false;  // over the rows of all ranks
};

// The number of a batch's examples: what a loss that the model computes is the mean over.
Expr Examples(GraphSink& sink) {
  const Graph& graph = sink.graph();
  for (const ValueId id : graph.inputs()) {
    const Type& type = graph.type(id);
    if (graph.is_constant(id) || !type.is_tensor() || !type.shape || type.shape->empty()) continue;
    return Cast(Squeeze(Shape(sink.Value(id), 0, 1), {0}), DType::kFloat64);
  }
  return sink.Scalar(1, DType::kFloat64);
}

// Adds the loss of the output `scored`, as output "loss"; no count where the config sums.
absl::StatusOr<Scored> AddLoss(GraphSink& sink, const LossConfig& config, const std::string& scored,
                               absl::Span<const Field> fields, const LossForm& form,
                               PhaseOutputs& outputs) {
  Graph& graph = sink.graph();
  const bool parts = form.parts || form.all_reduce;
  Scored made;
  made.scores = sink.Value(graph.FindValue(scored));
  if (config.has_from_model()) {
    made.loss = Identity(made.scores);
    if (parts && !SumsLoss(config)) {
      made.count = Examples(sink);
      made.loss = made.loss * CastLike(made.count, made.loss);
    }
  } else {
    LossOperands operands{made.scores, {}, {}, {}};
    const auto field = [&](const char* setting, const std::string& name, Expr& value) {
      if (name.empty()) return absl::OkStatus();
      ONWARD_ASSIGN_OR_RETURN(const ValueId id, FieldInput(graph, setting, name, fields));
      value = sink.Value(id);
      return absl::OkStatus();
    };
    ONWARD_RETURN_IF_ERROR(field("loss.target", config.target(), operands.target));
    ONWARD_RETURN_IF_ERROR(
        field("loss.ctc.input_lengths", config.ctc().input_lengths(), operands.frames));
    ONWARD_RETURN_IF_ERROR(
        field("loss.ctc.target_lengths", config.ctc().target_lengths(), operands.lengths));
    if (parts) {
      ONWARD_ASSIGN_OR_RETURN(const LossParts made_parts, MakeLossParts(config, operands));
      made.loss = made_parts.sum;
      made.count = made_parts.count;
    } else {
      ONWARD_ASSIGN_OR_RETURN(made.loss, MakeLoss(config, operands));
    }
  }
  const Type& type = made.loss.type();
  const auto dims = type.static_dims();
  if (dims ? NumElements(*dims) != 1 : type.shape && !type.shape->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss ", QuotedUserName(scored), " is ", type.ToString(), ", no scalar"));
  }
  made.loss = Reshape(Cast(made.loss, DType::kFloat32), sink.Ints({}));
  Expr shown = made.loss;
  if (form.all_reduce) {
    const SummedLoss summed = AllReduceLoss(sink, made.loss, made.count);
    made.loss = summed.own;
    if (summed.count.valid()) made.count = Reshape(summed.count, sink.Ints({}));
    shown = summed.sum;
    if (made.count.valid() && !form.parts)
      shown =
          Reshape(Cast(Cast(shown, DType::kFloat64) / made.count, DType::kFloat32), sink.Ints({}));
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  AddPhaseOutput(graph, shown, "loss", outputs);
  if (!made.count.valid() || !form.parts) return made;
  // A node of its own: the count may be a constant, or what another output is.
  made.count = Identity(Reshape(made.count, sink.Ints({})));
  ONWARD_RETURN_IF_ERROR(sink.status());
  AddPhaseOutput(graph, made.count, kLossCount, outputs);
  return made;
}

// To what `precision` asks for, before the loss is added: that one is float32.
absl::Status ApplyPrecision(Model& model, const PrecisionConfig& precision) {
  if (precision.autocast() == PrecisionConfig::FLOAT32) return absl::OkStatus();
  return Autocast(
      model, precision.autocast() == PrecisionConfig::FLOAT16 ? DType::kFloat16 : DType::kBFloat16);
}

// Leaves these outputs, the updates and what they need.
absl::Status KeepPhaseOutputs(Model& model, const PhaseOutputs& wanted) {
  std::vector<int> kept;
  const std::vector<ValueId>& outputs = model.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool updates = std::any_of(model.updates.begin(), model.updates.end(),
                                     [&](const auto& each) { return each.output == outputs[i]; });
    if (updates || std::find(wanted.begin(), wanted.end(), outputs[i]) != wanted.end())
      kept.push_back(static_cast<int>(i));
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

bool NeedsApply(const TrainConfig& config) { return config.accumulate() > 1; }

// The graph that updates `names` from the sums of the accumulating one, which it clears.
absl::StatusOr<Model> ApplyPhase(const Model& accumulating, const std::vector<std::string>& names,
                                 const TrainConfig& config, const PhaseOptions& options,
                                 TrainingPhases& phases) {
  Model model;
  model.opsets = accumulating.opsets;
  model.graph.name = "apply";
  std::vector<ValueId> parameters;
  std::vector<Tensor> values;
  for (const std::string& name : names) {
    values.push_back(*accumulating.graph.constant(accumulating.graph.FindValue(name)));
    parameters.push_back(AddState(model.graph, name, values.back()));
  }
  for (const std::string& name : phases.buffers) {
    if (config.has_average())
      AddState(model.graph, name, *accumulating.graph.constant(accumulating.graph.FindValue(name)));
  }
  ONWARD_ASSIGN_OR_RETURN(
      AccumulatedGradients accumulated,
      ReadAccumulated(model, values, names, !SumsLoss(config.loss()), config.accumulate()));
  if (options.all_reduce)
    ONWARD_RETURN_IF_ERROR(AllReduceGradients(model, names, accumulated.gradients));
  PhaseOutputs outputs;
  ONWARD_RETURN_IF_ERROR(WriteUpdate(model, config, options.portable, parameters,
                                     accumulated.gradients, phases, outputs));
  ONWARD_RETURN_IF_ERROR(ClearSums(model, accumulated.sums));
  ONWARD_RETURN_IF_ERROR(KeepPhaseOutputs(model, outputs));
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
      GraphEdit(model.graph).Rename(input, kAveragePrefix + name);
  }
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(model, config.precision()));
  GraphSink sink(model.graph, "loss/");
  PhaseOutputs outputs;
  ONWARD_ASSIGN_OR_RETURN(const Scored scored,
                          AddLoss(sink, config.loss(), output, fields,
                                  {.parts = !config.loss().has_from_model()}, outputs));
  if (HasClasses(config.loss())) {
    const Expr prediction = PredictedClass(config.loss(), scored.scores);
    ONWARD_RETURN_IF_ERROR(sink.status());
    AddPhaseOutput(model.graph, prediction, "prediction", outputs);
  }
  ONWARD_RETURN_IF_ERROR(KeepPhaseOutputs(model, outputs));
  return model;
}

// The share of the loss that flows back, scaled.
ValueId Cotangent(Model& model, GraphSink& sink, const TrainConfig& config, const Expr& count) {
  const Expr share = NeedsApply(config) || !count.valid()
                         ? AccumulateCount(model, sink, count, config.accumulate())
                         : Cast(Reciprocal(count), DType::kFloat32);
  return (ScalesLoss(config) ? LossScaleInput(sink) * share : share).id();
}

}  // namespace

absl::StatusOr<std::optional<Model>> StatisticsPhase(const TrainableModel& trained,
                                                     const TrainConfig& config,
                                                     const std::vector<std::string>& averaged) {
  Model model = trained.model;
  ONWARD_RETURN_IF_ERROR(FreeTrainingNames(model.graph, "", trained.initializers).status());
  TrainingModeOptions mode;
  mode.frozen = {config.inference_mode().begin(), config.inference_mode().end()};
  mode.batch_statistics = true;
  ONWARD_RETURN_IF_ERROR(SetTrainingMode(model, mode).status());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> names, KeepBatchStatistics(model));
  if (names.empty()) return std::nullopt;
  for (const std::string& name : averaged) {
    const ValueId id = model.graph.FindValue(name);
    if (!model.graph.is_constant(id)) continue;
    GraphEdit(model.graph).Rename(ConstantToState(model.graph, id), kAveragePrefix + name);
  }
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(model, config.precision()));
  return model;
}

absl::StatusOr<TrainingPhases> MakeTrainingPhases(const TrainableModel& trained,
                                                  const TrainConfig& config,
                                                  absl::Span<const Field> fields,
                                                  const PhaseOptions& options) {
  const bool portable = options.portable;
  TrainingPhases phases;
  Model step = trained.model;
  ONWARD_ASSIGN_OR_RETURN(std::string output, ScoredOutput(trained.model.graph, config.loss()));
  ONWARD_ASSIGN_OR_RETURN(output, FreeTrainingNames(step.graph, output, trained.initializers));
  TrainingModeOptions mode;
  mode.frozen = {config.inference_mode().begin(), config.inference_mode().end()};
  ONWARD_RETURN_IF_ERROR(SetTrainingMode(step, mode).status());
  for (const UpdateBinding& update : step.updates)
    phases.buffers.push_back(step.graph.value(update.input).name);
  if (options.all_reduce) MarkBatchAxes(step.graph);
  const std::vector<std::string> trainable(config.trainable().begin(), config.trainable().end());
  if (!portable && SessionPrecision(config) != Precision::kStrict)
    ONWARD_RETURN_IF_ERROR(
        FuseAttention(step, MayBeTrained(step, trained.initializers, trainable)));
  ONWARD_RETURN_IF_ERROR(ApplyPrecision(step, config.precision()));
  GraphSink sink(step.graph, "loss/");
  PhaseOutputs outputs;
  ONWARD_ASSIGN_OR_RETURN(
      const Scored scored,
      AddLoss(sink, config.loss(), output, fields,
              {.parts = NeedsApply(config), .all_reduce = options.all_reduce}, outputs));
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
  GradientOptions differentiating;
  differentiating.allow_onward_ops = !portable;
  const ValueId cotangent = Cotangent(step, sink, config, scored.count);
  ONWARD_RETURN_IF_ERROR(sink.status());
  ONWARD_ASSIGN_OR_RETURN(
      std::vector<ValueId> gradients,
      AddGradients(step.graph, {{scored.loss.id(), cotangent}}, parameters, differentiating));
  if (options.all_reduce) ONWARD_RETURN_IF_ERROR(AllReduceUpdates(step));
  if (portable) {
    ONWARD_RETURN_IF_ERROR(CheckRequiredShapes(step.graph));
    MakePlainIdentities(step.graph);
  }
  if (NeedsApply(config)) {
    ONWARD_RETURN_IF_ERROR(AccumulateGradients(step, phases.parameters, gradients));
    ONWARD_ASSIGN_OR_RETURN(Model apply,
                            ApplyPhase(step, phases.parameters, config, options, phases));
    for (const ValueId id : parameters) {
      const ValueId state = ConstantToState(step.graph, id);
      const Expr bounded = nn::BoundedTable(sink, state);
      ONWARD_RETURN_IF_ERROR(sink.status());
      if (bounded.valid()) AddUpdate(step, state, bounded.id());
    }
    ONWARD_RETURN_IF_ERROR(KeepPhaseOutputs(step, outputs));
    phases.models.push_back(std::move(step));
    phases.apply = phases.models.size();
    phases.models.push_back(std::move(apply));
  } else {
    if (options.all_reduce)
      ONWARD_RETURN_IF_ERROR(AllReduceGradients(step, phases.parameters, gradients));
    ONWARD_RETURN_IF_ERROR(
        WriteUpdate(step, config, portable, parameters, gradients, phases, outputs));
    ONWARD_RETURN_IF_ERROR(KeepPhaseOutputs(step, outputs));
    phases.models.push_back(std::move(step));
  }
  std::vector<std::string> state;
  for (const Model& model : phases.models) {
    for (const UpdateBinding& update : model.updates)
      state.push_back(model.graph.value(update.input).name);
  }
  std::vector<std::string> averaged = phases.parameters;
  averaged.insert(averaged.end(), phases.buffers.begin(), phases.buffers.end());
  if (config.has_average() && config.average().kind() == AverageConfig::UNIFORM) {
    ONWARD_ASSIGN_OR_RETURN(std::optional<Model> statistics,
                            StatisticsPhase(trained, config, averaged));
    if (statistics) {
      phases.statistics = phases.models.size();
      phases.models.push_back(*std::move(statistics));
    }
  }
  phases.evaluate = phases.models.size();
  ONWARD_ASSIGN_OR_RETURN(Model evaluate, EvaluatePhase(trained, config, fields, state, {}));
  phases.models.push_back(std::move(evaluate));
  if (config.has_average()) {
    phases.evaluate_average = phases.models.size();
    ONWARD_ASSIGN_OR_RETURN(Model average, EvaluatePhase(trained, config, fields, state, averaged));
    phases.models.push_back(std::move(average));
  }
  return phases;
}

}  // namespace onward
