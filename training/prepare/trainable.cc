#include "training/prepare/trainable.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/closest_name.h"
#include "graph/base/name_pattern.h"
#include "onward/dtype.h"
#include "onward/nn/module.h"
#include "onward/nn/parameters.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/gradient/path.h"
#include "training/prepare/formula_constants.h"
#include "training/source/torch_export.h"

namespace onward::training {
namespace {

bool HasWildcard(const std::string& pattern) {
  return absl::StrContains(pattern, "*") || absl::StrContains(pattern, "?");
}

bool IsFloat(const Graph& graph, ValueId id) {
  return graph.type(id).is_tensor() && IsFloating(graph.type(id).dtype);
}

class Chooser {
 public:
  Chooser(const Model& model, absl::Span<const std::string> trainable,
          absl::Span<const std::string> frozen)
      : graph_(model.graph), exported_(model.graph), trainable_(trainable), frozen_(frozen) {
    for (const UpdateBinding& update : model.updates) state_.insert(update.input);
  }

  absl::StatusOr<std::vector<WeightChoice>> Run(absl::Span<const std::string> initializers,
                                                ValueId loss) {
    std::vector<ValueId> floats;
    for (const std::string& name : initializers) {
      const ValueId id = graph_.FindValue(name);
      if (graph_.is_constant(id) && IsFloat(graph_, id)) floats.push_back(id);
    }
    if (loss.valid()) {
      ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
      paths_ = gradient::FindPaths(graph_, order, floats, {loss}, {});
    }
    const bool look_at_paths = loss.valid();
    std::vector<ValueId> unsaid;
    for (const ValueId id : floats)
      if (!Said(id) && !IsStatistic(id)) unsaid.push_back(id);
    guesses_ = FormulaConstants(graph_, unsaid);
    std::vector<WeightChoice> choices;
    for (const ValueId id : floats) choices.push_back(Choose(id, look_at_paths));
    return choices;
  }

 private:
  bool IsStatistic(ValueId id) const {
    return state_.contains(id) || nn::IsRunningStatistic(graph_, id);
  }

  // Returns whether the model says what the initializer is.
  bool Said(ValueId id) const {
    return graph_.value(id).metadata.contains(nn::kInitKey) ||
           exported_.Find(graph_, id).kind != TorchKind::kUnsaid;
  }

  WeightChoice Choose(ValueId id, bool look_at_paths) const {
    const std::string& name = graph_.value(id).name;
    if (MatchesAny(name, frozen_)) return {name, false, Ground::kConfig, "named in `frozen`"};
    const bool named = MatchesAny(name, trainable_);
    if (!trainable_.empty() && !named)
      return {name, false, Ground::kConfig, "not named in `trainable`"};
    if (IsStatistic(id)) return {name, false, Ground::kStatistic, "a running statistic"};
    WeightChoice choice =
        named ? WeightChoice{name, true, Ground::kConfig, "named in `trainable`"} : ByModel(id);
    if (choice.trained && look_at_paths && !paths_.on_path(id))
      return {name, false, Ground::kNoPath, "no gradient path leads from the loss to it"};
    return choice;
  }

  WeightChoice ByModel(ValueId id) const {
    const std::string& name = graph_.value(id).name;
    if (graph_.value(id).metadata.contains(nn::kInitKey))
      return {name, true, Ground::kModel, "a parameter"};
    const TorchInitializer said = exported_.Find(graph_, id);
    const std::string from = absl::StrCat("'", absl::StrJoin(said.parameters, "', '"), "'");
    switch (said.kind) {
      case TorchKind::kParameter:
        return {name, true, Ground::kModel, "a parameter"};
      case TorchKind::kBuffer:
        return {name, false, Ground::kModel, "a buffer"};
      case TorchKind::kConstant:
        return {name, false, Ground::kModel, "a constant"};
      case TorchKind::kFolded:
        if (said.detached) return {name, false, Ground::kModel, absl::StrCat("detached ", from)};
        return {name, true, Ground::kModel,
                absl::StrCat(said.moved ? "moved from " : "computed from ", from)};
      case TorchKind::kUnsaid:
        break;
    }
    const auto guess = guesses_.find(id);
    if (guess != guesses_.end()) return {name, false, Ground::kGuess, guess->second};
    return {name, true, Ground::kGuess, "an initializer of floats"};
  }

  const Graph& graph_;
  const TorchExport exported_;
  const absl::Span<const std::string> trainable_, frozen_;
  std::set<ValueId> state_;
  std::map<ValueId, std::string> guesses_;
  gradient::Paths paths_;
};

// Why it cannot be trained, though `trainable` names it.
std::string WhyNot(const Model& model, const std::string& name,
                   absl::Span<const WeightChoice> choices) {
  const ValueId id = model.graph.FindValue(name);
  if (!IsFloat(model.graph, id))
    return absl::StrCat("it is ", model.graph.type(id).ToString(), ", not a float");
  for (const WeightChoice& choice : choices) {
    if (choice.name != name || choice.trained || choice.ground == Ground::kConfig) continue;
    return choice.ground == Ground::kStatistic ? "it is a running statistic" : choice.reason;
  }
  return "";
}

}  // namespace

absl::Status CheckPatterns(absl::Span<const std::string> patterns, const std::string& field,
                           absl::Span<const std::string> initializers) {
  for (const std::string& pattern : patterns) {
    if (std::any_of(initializers.begin(), initializers.end(),
                    [&](const auto& name) { return MatchesPattern(name, pattern); }))
      continue;
    return absl::InvalidArgumentError(absl::StrCat(field, ": no initializer of the model matches '",
                                                   pattern, "'",
                                                   DidYouMean(pattern, initializers)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WeightChoice>> ChooseTrainable(
    const Model& model, absl::Span<const std::string> initializers, ValueId loss,
    absl::Span<const std::string> trainable, absl::Span<const std::string> frozen) {
  return Chooser(model, trainable, frozen).Run(initializers, loss);
}

absl::StatusOr<std::vector<ValueId>> TrainableParameters(const Model& model,
                                                         absl::Span<const std::string> initializers,
                                                         ValueId loss,
                                                         absl::Span<const std::string> trainable,
                                                         absl::Span<const std::string> frozen,
                                                         std::vector<WeightChoice>* choices) {
  ONWARD_RETURN_IF_ERROR(CheckPatterns(trainable, "trainable", initializers));
  ONWARD_RETURN_IF_ERROR(CheckPatterns(frozen, "frozen", initializers));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<WeightChoice> all,
                          ChooseTrainable(model, initializers, loss, trainable, frozen));
  for (const std::string& name : trainable) {
    if (HasWildcard(name)) continue;
    const std::string reason = WhyNot(model, name, all);
    if (!reason.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trainable: '", name, "' cannot be trained: ", reason));
    }
  }
  std::vector<ValueId> chosen;
  for (const WeightChoice& choice : all)
    if (choice.trained) chosen.push_back(model.graph.FindValue(choice.name));
  if (chosen.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing is left to train: every float initializer with a gradient path to the loss is "
        "frozen or not named; ",
        ChoiceSummary(all)));
  }
  if (choices != nullptr) *choices = all;
  return chosen;
}

std::vector<std::string> MayBeTrained(const Model& model,
                                      absl::Span<const std::string> initializers,
                                      absl::Span<const std::string> trainable) {
  const absl::StatusOr<std::vector<WeightChoice>> choices =
      ChooseTrainable(model, initializers, ValueId(), {}, {});
  std::vector<std::string> names;
  for (const WeightChoice& choice : choices.value_or(std::vector<WeightChoice>()))
    if (choice.trained || choice.ground == Ground::kStatistic || MatchesAny(choice.name, trainable))
      names.push_back(choice.name);
  return names;
}

}  // namespace onward::training
