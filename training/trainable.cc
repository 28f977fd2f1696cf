#include "training/trainable.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executors/session.h"
#include "graph/base/dtype.h"
#include "graph/base/name_pattern.h"
#include "graph/base/status.h"
#include "graph/builder/nn/parameters.h"
#include "training/gradient/path.h"
#include "training/merged_weights.h"

namespace onward {
namespace {

bool HasWildcard(const std::string& pattern) {
  return absl::StrContains(pattern, "*") || absl::StrContains(pattern, "?");
}

bool HasInfinity(const Tensor& tensor) {
  bool found = false;
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T each : tensor.span<T>()) found = found || std::isinf(static_cast<float>(each));
  });
  return found;
}

bool AllAre(const Tensor& tensor, float value) {
  bool all = true;
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T each : tensor.span<T>()) all = all && static_cast<float>(each) == value;
  });
  return all;
}

// The zeros that a recurrence starts from, or the scale and bias of a normalization that has none.
bool IsDefaultInput(const Graph& graph, ValueId id) {
  if (!IsGeneratedName(graph.value(id).name)) return false;
  const Tensor& tensor = *graph.constant(id);
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (!node.domain.empty() || !node.subgraphs.empty()) return false;
    const bool norm = node.op_type == "InstanceNormalization";
    if (!norm && node.op_type != "LSTM" && node.op_type != "GRU" && node.op_type != "RNN")
      return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      const bool has_default = norm ? i == 1 || i == 2 : i == 5 || i == 6;
      if (!has_default || !AllAre(tensor, norm && i == 1 ? 1.0f : 0.0f)) return false;
    }
    return true;
  });
}

// What exporters write for a constant of a formula.
bool LooksLikeConstant(const Graph& graph, ValueId id) {
  const Tensor& tensor = *graph.constant(id);
  if (tensor.num_elements() != 1) return HasInfinity(tensor) || IsDefaultInput(graph, id);
  const std::vector<NodeId>& users = graph.users(id);
  return std::none_of(users.begin(), users.end(),
                      [&](NodeId user) { return graph.node(user).op_type == "PRelu"; });
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
    if (reason.empty() && !(all && LooksLikeConstant(graph, id))) chosen.push_back(id);
  }
  if (chosen.empty())
    return absl::InvalidArgumentError(
        "nothing is left to train: every float initializer with a "
        "gradient path to the loss is frozen or not named");
  return chosen;
}

}  // namespace onward
