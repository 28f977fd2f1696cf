#include "training/rewrite/training_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "training/rewrite/names.h"

namespace onward::training {
namespace {

bool IsExactName(std::string_view name) {
  return std::find(std::begin(kTrainingNames), std::end(kTrainingNames), name) !=
         std::end(kTrainingNames);
}

// Whether training makes a value of that name for one of the weights, as "average/<weight>" or
// "optimizer/<weight>/<state>".
bool IsMadeOf(std::string_view name, absl::Span<const std::string> weights) {
  for (const std::string_view prefix : kTrainingPrefixes) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    return std::any_of(weights.begin(), weights.end(), [&](std::string_view weight) {
      return rest.starts_with(weight) &&
             (rest.size() == weight.size() || rest[weight.size()] == '/');
    });
  }
  return false;
}

// No exporter writes it.
constexpr std::string_view kSuffix = "/onward.own";

}  // namespace

std::string NameInTraining(const Graph& graph, std::string_view user_name) {
  return graph.UniqueName(absl::StrCat(std::string(user_name), std::string(kSuffix)));
}

std::string UserName(std::string_view name) {
  return std::string(name.substr(0, name.find(kSuffix)));
}

std::string QuotedUserName(std::string_view name) {
  const std::string user_name = UserName(name);
  return absl::StrCat(
      user_name.size() < name.size() && !IsTrainingName(user_name) ? "output '" : "'", user_name,
      "'");
}

bool IsTrainingName(std::string_view name) {
  if (IsExactName(name)) return true;
  return UserName(name) == name &&
         std::any_of(std::begin(kTrainingPrefixes), std::end(kTrainingPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

absl::StatusOr<std::vector<std::string>> FreeTrainingNames(
    Graph& graph, std::vector<std::string> scored, absl::Span<const std::string> initializers) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    const std::string name = graph.value(id).name;
    if (!IsTrainingName(name)) continue;
    if (std::find(initializers.begin(), initializers.end(), name) != initializers.end()) {
      if (!IsExactName(name) && !IsMadeOf(name, initializers)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the model's initializer '", name,
                       "' has the name of a value that training adds; rename it in the model"));
    }
    GraphEdit(graph).Rename(id, NameInTraining(graph, name));
    std::replace(scored.begin(), scored.end(), name, graph.value(id).name);
  }
  return scored;
}

ValueId AddNamedOutput(Graph& graph, ValueId value, const std::string& name) {
  const ValueId old = graph.FindValue(name);
  if (old.valid() && old != value)
    GraphEdit(graph).Rename(old, graph.UniqueName(absl::StrCat(name, "/model")));
  GraphEdit(graph).Rename(value, name);
  GraphEdit(graph).AddOutput(value);
  return value;
}

ValueId AddFieldInput(Graph& graph, const std::string& field, Type type, bool of_weight) {
  if (of_weight || IsTrainingName(field))
    return GraphEdit(graph).AddInput(NameInTraining(graph, field), std::move(type));
  if (const ValueId known = graph.FindValue(field); known.valid())
    GraphEdit(graph).Rename(known, NameInTraining(graph, field));
  return GraphEdit(graph).AddInput(field, std::move(type));
}

}  // namespace onward::training
