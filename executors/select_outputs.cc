#include "executors/select_outputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"
#include "graph/rewrite/keep_outputs.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

absl::Status UnknownValue(const Graph& graph, const std::string& name) {
  std::vector<std::string> values;
  for (int32_t i = 0; i < graph.num_values(); ++i) values.push_back(graph.value({i}).name);
  return absl::InvalidArgumentError(
      absl::StrCat("outputs: the model has no value '", name, "'", DidYouMean(name, values)));
}

}  // namespace

absl::Status SelectOutputs(Model& model, const std::vector<std::string>& names) {
  if (names.empty()) return absl::OkStatus();
  if (!model.updates.empty())
    return absl::InvalidArgumentError(
        "outputs: the model updates its state by its outputs, all of which are computed");
  std::vector<ValueId> kept;
  for (const std::string& name : names) {
    const ValueId value = model.graph.FindValue(name);
    if (!value.valid()) return UnknownValue(model.graph, name);
    if (std::find(kept.begin(), kept.end(), value) != kept.end())
      return absl::InvalidArgumentError(absl::StrCat("outputs: '", name, "' is named twice"));
    kept.push_back(value);
  }
  ONWARD_ASSIGN_OR_RETURN(model.graph, KeepValues(std::move(model.graph), kept));
  return absl::OkStatus();
}

}  // namespace onward::executors
