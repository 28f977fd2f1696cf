#include "training/trainable.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executors/session.h"
#include "graph/base/dtype.h"
#include "graph/base/name_pattern.h"
#include "graph/base/status.h"
#include "graph/builder/nn/parameters.h"
#include "training/formula_constants.h"
#include "training/gradient/path.h"

namespace onward {
namespace {

bool HasWildcard(const std::string& pattern) {
  return absl::StrContains(pattern, "*") || absl::StrContains(pattern, "?");
}

}  // namespace

absl::Status CheckPatterns(absl::Span<const std::string> patterns, const std::string& field,
                           absl::Span<const std::string> initializers) {
  for (const std::string& pattern : patterns) {
    if (std::any_of(initializers.begin(), initializers.end(),
                    [&](const auto& name) { return MatchesPattern(name, pattern); }))
      continue;
    const std::string closest = ClosestName(pattern, initializers);
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": no initializer of the model matches '", pattern, "'",
                     closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValueId>> TrainableParameters(const Model& model,
                                                         absl::Span<const std::string> initializers,
                                                         ValueId loss,
                                                         absl::Span<const std::string> trainable,
                                                         absl::Span<const std::string> frozen) {
  const Graph& graph = model.graph;
  ONWARD_RETURN_IF_ERROR(CheckPatterns(trainable, "trainable", initializers));
  ONWARD_RETURN_IF_ERROR(CheckPatterns(frozen, "frozen", initializers));
  std::vector<ValueId> known;
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (graph.is_constant(id)) known.push_back(id);
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  const gradient::Paths paths = gradient::FindPaths(graph, order, known, {loss}, {});
  std::set<ValueId> state;
  for (const UpdateBinding& update : model.updates) state.insert(update.input);
  const auto why_not = [&](ValueId id) -> std::string {
    const Type& type = graph.type(id);
    if (!type.is_tensor() || !IsFloating(type.dtype))
      return absl::StrCat("it is ", type.ToString(), ", no float");
    if (state.count(id) > 0 || nn::IsRunningStatistic(graph, id))
      return "it is a running statistic";
    if (!paths.on_path(id)) return "no gradient path leads from the loss to it";
    return "";
  };
  std::set<ValueId> constants;
  if (trainable.empty()) {
    std::vector<ValueId> floats;
    std::copy_if(known.begin(), known.end(), std::back_inserter(floats),
                 [&](ValueId id) { return why_not(id).empty(); });
    constants = FormulaConstants(graph, floats);
  }
  std::vector<ValueId> chosen;
  for (const ValueId id : known) {
    const std::string& name = graph.value(id).name;
    if (MatchesAny(name, frozen)) continue;
    const bool all = trainable.empty();
    if (!all && !MatchesAny(name, trainable)) continue;
    const std::string reason = why_not(id);
    const bool named = std::any_of(trainable.begin(), trainable.end(), [&](const auto& pattern) {
      return !HasWildcard(pattern) && pattern == name;
    });
    if (named && !reason.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trainable: '", name, "' cannot be trained: ", reason));
    }
    if (reason.empty() && constants.count(id) == 0) chosen.push_back(id);
  }
  if (chosen.empty())
    return absl::InvalidArgumentError(
        "nothing is left to train: every float initializer with a "
        "gradient path to the loss is frozen or not named");
  return chosen;
}

std::vector<std::string> MayBeTrained(const Graph& graph,
                                      absl::Span<const std::string> initializers,
                                      absl::Span<const std::string> trainable) {
  std::vector<ValueId> floats;
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (graph.is_constant(id) && IsFloating(graph.constant(id)->dtype())) floats.push_back(id);
  }
  const std::set<ValueId> constants = FormulaConstants(graph, floats);
  std::vector<std::string> names;
  for (const ValueId id : floats) {
    const std::string& name = graph.value(id).name;
    if (constants.count(id) == 0 || MatchesAny(name, trainable)) names.push_back(name);
  }
  return names;
}

}  // namespace onward
