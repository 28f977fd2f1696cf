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

}  // namespace

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

absl::StatusOr<Scored> AddLoss(GraphSink& sink, const LossConfig& config, const std::string& scored,
                               absl::Span<const Field> fields, const LossForm& form,
                               PhaseIds& ids) {
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
    return absl::InvalidArgumentError(absl::StrCat("the loss ", QuotedUserName(scored), " is ",
                                                   type.ToString(), ", not a scalar"));
  }
  made.loss = Reshape(Cast(made.loss, DType::kFloat32), sink.Ints({}));
  Expr shown = made.loss;
  if (form.all_reduce) {
    const SummedLoss summed = AllReduceLoss(sink, made.loss, made.count, ids.inputs.batch_share);
    made.loss = summed.own;
    if (summed.count.valid()) made.count = Reshape(summed.count, sink.Ints({}));
    shown = summed.sum;
    if (made.count.valid() && !form.parts)
      shown =
          Reshape(Cast(Cast(shown, DType::kFloat64) / made.count, DType::kFloat32), sink.Ints({}));
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  ids.outputs.loss = AddNamedOutput(graph, shown.id(), kLoss);
  if (!made.count.valid() || !form.parts) return made;
  // A node of its own: the count may be a constant, or what another output is.
  made.count = Identity(Reshape(made.count, sink.Ints({})));
  ONWARD_RETURN_IF_ERROR(sink.status());
  ids.outputs.count = AddNamedOutput(graph, made.count.id(), kLossCount);
  return made;
}

}  // namespace onward::training
