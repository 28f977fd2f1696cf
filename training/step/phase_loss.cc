#include "training/step/phase_loss.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/all_reduce.h"
#include "training/rewrite/training_names.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// A field of the data as an input: the field's type with a batch before it. `setting` names it.
absl::StatusOr<ValueId> FieldInput(Graph& graph, const std::string& setting,
                                   const std::string& name, absl::Span<const Field> fields) {
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
    return AddFieldInput(graph, name, std::move(type), is_weight);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(setting, ": the data has no field '", name, "'; it has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

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

// Returns whether nodes of the graph make a tensor of this name.
bool MakesTensor(const Graph& graph, const std::string& name) {
  const ValueId id = graph.FindValue(name);
  return id.valid() && graph.value(id).producer.valid() && graph.type(id).is_tensor();
}

absl::StatusOr<std::string> ScoredOutput(const Graph& graph, const LossConfig& loss,
                                         const std::string& path) {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  if (!loss.has_output()) {
    if (names.size() == 1) return names[0];
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ".output must say which of the model's outputs is scored: ", absl::StrJoin(names, ", ")));
  }
  const bool is_output = std::find(names.begin(), names.end(), loss.output()) != names.end();
  if (is_output || MakesTensor(graph, loss.output())) return loss.output();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ".output: the model has no output '", loss.output(), "'; it has ",
                   absl::StrJoin(names, ", "), " (a value within it may be named, too)"));
}

// The losses of a config, with the paths of their settings.
std::vector<std::pair<const LossConfig*, std::string>> LossesOf(const TrainConfig& config) {
  std::vector<std::pair<const LossConfig*, std::string>> losses = {{&config.loss(), "loss"}};
  for (int i = 0; i < config.auxiliary_loss_size(); ++i)
    losses.emplace_back(&config.auxiliary_loss(i), absl::StrCat("auxiliary_loss[", i, "]"));
  return losses;
}

// A loss as float32 scalar, times its factor. InvalidArgument: it has another shape.
absl::StatusOr<Expr> Weighted(GraphSink& sink, const Expr& loss, const LossConfig& config,
                              const std::string& scored) {
  const Type& type = loss.type();
  const auto dims = type.static_dims();
  if (dims ? NumElements(*dims) != 1 : type.shape && !type.shape->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the loss ", QuotedUserName(scored), " is ",
                                                   type.ToString(), ", not a scalar"));
  }
  const Expr scalar = Reshape(Cast(loss, DType::kFloat32), sink.Ints({}));
  return config.factor() == 1 ? scalar : scalar * config.factor();
}

// Makes the losses of one batch.
class LossMaker {
 public:
  LossMaker(GraphSink& sink, absl::Span<const Field> fields) : sink_(sink), fields_(fields) {}

  // In parts, or the loss itself without a count.
  absl::StatusOr<LossParts> Make(const LossConfig& config, const std::string& path,
                                 const Expr& scores, bool parts) {
    if (config.has_from_model()) {
      LossParts made{Identity(scores), {}};
      if (parts && !SumsLoss(config)) {
        made.count = Examples(sink_);
        made.sum = made.sum * CastLike(made.count, made.sum);
      }
      return made;
    }
    LossOperands operands{scores, {}, {}, {}, path};
    ONWARD_ASSIGN_OR_RETURN(operands.target, FieldOf(path + ".target", config.target()));
    ONWARD_ASSIGN_OR_RETURN(operands.frames,
                            FieldOf(path + ".ctc.input_lengths", config.ctc().input_lengths()));
    ONWARD_ASSIGN_OR_RETURN(operands.lengths,
                            FieldOf(path + ".ctc.target_lengths", config.ctc().target_lengths()));
    if (parts) return MakeLossParts(config, operands);
    ONWARD_ASSIGN_OR_RETURN(const Expr loss, MakeLoss(config, operands));
    return LossParts{loss, {}};
  }

 private:
  // None without a name.
  absl::StatusOr<Expr> FieldOf(const std::string& setting, const std::string& name) {
    if (name.empty()) return Expr();
    ONWARD_ASSIGN_OR_RETURN(const ValueId id, FieldInput(sink_.graph(), setting, name, fields_));
    return sink_.Value(id);
  }

  GraphSink& sink_;
  const absl::Span<const Field> fields_;
};

struct LossSum {
  LossParts total;           // in parts by the targets of the first loss
  std::vector<Expr> losses;  // of which it is the sum, in the same parts
};

absl::StatusOr<LossSum> SumOfLosses(GraphSink& sink, const TrainConfig& config,
                                    const std::vector<std::string>& scored,
                                    absl::Span<const Field> fields, bool parts) {
  std::vector<Expr> scores;  // before fields take the names of outputs
  for (const std::string& name : scored) scores.push_back(sink.Value(sink.graph().FindValue(name)));
  LossMaker maker(sink, fields);
  LossSum sum;
  const auto losses = LossesOf(config);
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto& [loss, path] = losses[i];
    ONWARD_ASSIGN_OR_RETURN(LossParts made, maker.Make(*loss, path, scores[i], parts && i == 0));
    ONWARD_ASSIGN_OR_RETURN(Expr weighted, Weighted(sink, made.sum, *loss, scored[i]));
    LossParts& total = sum.total;
    if (i == 0) {
      total = {weighted, made.count};
    } else {
      if (total.count.valid())
        weighted = weighted * Cast(Reshape(total.count, sink.Ints({})), DType::kFloat32);
      total.sum = total.sum + weighted;
    }
    sum.losses.push_back(weighted);
  }
  return sum;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ScoredOutputs(const Graph& graph,
                                                       const TrainConfig& config) {
  std::vector<std::string> scored;
  for (const auto& [loss, path] : LossesOf(config)) {
    ONWARD_ASSIGN_OR_RETURN(std::string name, ScoredOutput(graph, *loss, path));
    scored.push_back(std::move(name));
  }
  return scored;
}

absl::StatusOr<Scored> AddLoss(GraphSink& sink, const TrainConfig& config,
                               const std::vector<std::string>& scored,
                               absl::Span<const Field> fields, const LossForm& form,
                               PhaseIds& ids) {
  Graph& graph = sink.graph();
  Scored made;
  made.scores = sink.Value(graph.FindValue(scored[0]));
  ONWARD_ASSIGN_OR_RETURN(const LossSum sum,
                          SumOfLosses(sink, config, scored, fields, form.parts || form.all_reduce));
  made.loss = sum.total.sum;
  made.count = sum.total.count;
  std::vector<Expr> shown = {made.loss};
  if (sum.losses.size() > 1) shown.insert(shown.end(), sum.losses.begin(), sum.losses.end());
  if (form.all_reduce) {
    const SummedLoss summed = AllReduceLoss(sink, made.loss, made.count, ids.inputs.batch_share);
    made.loss = summed.own;
    if (summed.count.valid()) made.count = Reshape(summed.count, sink.Ints({}));
    shown[0] = summed.sum;
    for (size_t i = 1; i < shown.size(); ++i)
      shown[i] = AllReduceLoss(sink, shown[i], {}, ids.inputs.batch_share).sum;
    for (Expr& each : shown) {
      if (!made.count.valid() || form.parts) continue;
      each =
          Reshape(Cast(Cast(each, DType::kFloat64) / made.count, DType::kFloat32), sink.Ints({}));
    }
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  ids.outputs.loss = AddNamedOutput(graph, shown[0].id(), kLoss);
  for (size_t i = 1; i < shown.size(); ++i)
    ids.outputs.losses.push_back(
        AddNamedOutput(graph, shown[i].id(), absl::StrCat(kLossPartPrefix, i - 1)));
  if (!made.count.valid() || !form.parts) return made;
  // A node of its own: the count may be a constant, or what another output is.
  made.count = Identity(Reshape(made.count, sink.Ints({})));
  ONWARD_RETURN_IF_ERROR(sink.status());
  ids.outputs.count = AddNamedOutput(graph, made.count.id(), kLossCount);
  return made;
}

}  // namespace onward::training
