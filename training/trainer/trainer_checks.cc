// Checks of a trainer besides its steps: whether an evaluation fits before the first one, where
// values that are not finite come from, and what the trained model says of its data.
#include "absl/strings/str_cat.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"
#include "training/config/make_loss.h"
#include "training/data/model_notes.h"
#include "training/rewrite/training_names.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

// Images whose size the data leave open have the one that the model takes.
std::vector<Field> WithSizesOf(const Graph& graph, std::vector<Field> fields) {
  for (Field& field : fields) {
    auto& own = field.type.shape;
    const ValueId input = graph.FindValue(field.name);
    if (!own || own->size() != 3 || !input.valid() || !graph.is_input(input)) continue;
    const auto& shape = graph.type(input).shape;
    for (size_t i = 0; shape && shape->size() == 4 && i < 3; ++i)
      if (!(*own)[i].known()) (*own)[i] = (*shape)[i + 1];
  }
  return fields;
}

}  // namespace

// Checks what PlanMemory, which reads the evaluation's first batch, does not: a metric that does
// not fit is refused now, not after the first epoch.
absl::Status TrainingLoop::CheckEvaluation() const {
  if (evaluation_loader_ == nullptr) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(CheckEvaluationClasses());
  const std::string& metric = config_.evaluation().metric();
  if (!HasClasses(config_.loss()) || metric == "loss" || metric == "perplexity" ||
      options_.metrics.count(metric) > 0)
    return absl::OkStatus();
  const std::string& name = config_.loss().target();
  const ValueInfo* target = nullptr;  // its name here is the longer one where a weight has it too
  for (const ValueInfo& input : session_->inputs(phases_.evaluate)) {
    if (UserName(input.name) != name) continue;
    if (target == nullptr || input.name.size() > target->name.size()) target = &input;
  }
  if (target != nullptr && !IsInteger(target->type.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.metric: ", metric, " counts targets that are classes; '", name,
                     "' is ", target->type.ToString(), " (metric: \"loss\" fits)"));
  }
  return absl::OkStatus();
}

// Beside the loss of such a model there is nothing that could be counted.
void TrainingLoop::WarnOfUncountedTargets() const {
  const int64_t parts = config_.accumulate() * ranks();
  if (parts > 1 && config_.auxiliary_loss_size() > 0 && !SumsLoss(config_.loss())) {
    Warn(absl::StrCat("auxiliary_loss: each of the ", parts,
                      " parts of a step counts by the targets of `loss`; an auxiliary loss that "
                      "leaves out other targets is then not the mean of one large batch"));
  }
  if (parts == 1 || !config_.loss().has_from_model() || SumsLoss(config_.loss())) return;
  Warn(absl::StrCat(
      config_.accumulate() > 1 ? "accumulate: " : "",
      "the model computes its loss itself, so that each of the ", parts,
      ranks() == 1 ? " batches of a step" : " parts of a step that a rank computes at a time",
      " counts by its examples; a loss that leaves targets out (ignored labels, "
      "padding, weights of classes) is then not the mean of one large batch. A loss of the config "
      "(loss { cross_entropy {} } and the like) counts targets"));
}

// Probabilities in place of scores: training them goes slowly, and nothing else tells.
void TrainingLoop::WarnOfProbabilities() const {
  const LossConfig& loss = config_.loss();
  const bool of_classes = loss.has_cross_entropy();
  if (!of_classes && !loss.has_bce_with_logits()) return;
  const Graph& graph = trained_.model.graph;
  const ValueId scored = loss.has_output()             ? graph.FindValue(loss.output())
                         : graph.outputs().size() == 1 ? graph.outputs()[0]
                                                       : ValueId();
  const char* op = of_classes ? "Softmax" : "Sigmoid";
  const Node* maker = scored.valid() ? MadeBy(graph, scored, op) : nullptr;
  if (maker == nullptr) return;
  Warn(absl::StrCat("loss: ", of_classes ? "cross_entropy" : "bce_with_logits",
                    " takes scores, and '", graph.value(scored).name, "' is the ", op,
                    " of them, which would be taken twice; name the scores: loss { output: \"",
                    graph.value(maker->inputs[0]).name, "\" }"));
}

// Labels number the classes of their own data set: folders that one of two data sets lacks would
// shift them.
absl::Status TrainingLoop::CheckEvaluationClasses() const {
  const std::vector<std::string> trained = class_names();
  std::vector<std::string> evaluated;
  for (const Field& field : evaluation_loader_->places().data->fields())
    if (field.name == config_.loss().target()) evaluated = field.classes;
  for (size_t i = 0; i < std::min(trained.size(), evaluated.size()); ++i) {
    if (trained[i] == evaluated[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation.data: class ", i, " is '", evaluated[i], "', of the training's data it is '",
        trained[i], "': name the classes in their order in both (images { class: ... })"));
  }
  return absl::OkStatus();
}

std::vector<std::string> TrainingLoop::class_names() const {
  for (const Field& field : fields_)
    if (field.name == config_.loss().target()) return field.classes;
  return {};
}

std::map<std::string, std::string> TrainingLoop::DataNotes() const {
  const Graph& graph = trained_.model.graph;
  std::vector<std::string> inputs;
  for (const ValueId id : graph.inputs()) inputs.push_back(graph.value(id).name);
  const ValueId named = graph.FindValue(config_.loss().output());
  const bool is_inner = named.valid() && !graph.is_output(named) && graph.outputs().size() == 1;
  const std::string output = graph.outputs().empty() || (config_.loss().has_output() && !is_inner)
                                 ? config_.loss().output()
                                 : graph.value(graph.outputs()[0]).name;
  const std::string& directory =
      options_.data_directory.empty() ? options_.directory : options_.data_directory;
  const absl::StatusOr<Notes> notes =
      NotesOf(config_, WithSizesOf(graph, fields_), directory, inputs, output);
  if (notes.ok()) return *notes;
  Warn(absl::StrCat("the model is written without notes on its data: ", notes.status().message()));
  return {};
}

void TrainingLoop::WarnOfEmptyGroups() const {
  for (const int group : phases_.empty_groups) {
    Warn(absl::StrCat(
        "optimizer.group[", group,
        "] is empty: no trained parameter matches it, or earlier groups have them all"));
  }
}

}  // namespace onward::training
