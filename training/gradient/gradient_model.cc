#include "training/gradient/gradient_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/session.h"
#include "graph/base/status.h"
#include "graph/builder/functions.h"
#include "graph/passes/passes.h"
#include "training/gradient/expand_gradient.h"
#include "training/gradient/plain_identities.h"
#include "training/stop_gradients.h"

namespace onward {
namespace {

absl::StatusOr<std::vector<ValueId>> Find(const Graph& graph,
                                          const std::vector<std::string>& names) {
  std::vector<ValueId> found;
  for (const std::string& name : names) {
    const ValueId id = graph.FindValue(name);
    if (!id.valid()) {
      std::vector<std::string> known;
      for (int i = 0; i < graph.num_values(); ++i) known.push_back(graph.value({i}).name);
      const std::string closest = ClosestName(name, known);
      return absl::NotFoundError(
          absl::StrCat("the model has no tensor '", name, "'",
                       closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?")));
    }
    if (std::find(found.begin(), found.end(), id) == found.end()) found.push_back(id);
  }
  return found;
}

// Makes `wanted` free where it names a value inside the graph; inputs and outputs keep their names.
std::string TakeName(Graph& graph, const std::string& wanted) {
  const ValueId other = graph.FindValue(wanted);
  if (!other.valid()) return wanted;
  if (graph.is_input(other) || graph.is_output(other)) return graph.UniqueName(wanted);
  graph.Rename(other, graph.UniqueName(wanted + "/inner"));
  return wanted;
}

// The type as declared, or as inferred where that says more.
Type OutputType(const Type& of_gradient, const Type& of_value) {
  return of_value.shape && of_gradient.CompatibleWith(of_value) ? of_value : of_gradient;
}

absl::StatusOr<std::string> AddGradientOutput(Graph& graph, ValueId gradient, ValueId value) {
  const std::string wanted = absl::StrCat("grad/", graph.value(value).name);
  ValueId output = gradient;
  if (!graph.value(gradient).producer.valid() || graph.is_output(gradient)) {
    GraphSink sink(graph);
    output = Identity(sink.Value(gradient)).id();
    ONWARD_RETURN_IF_ERROR(sink.status());
  }
  const std::string name = TakeName(graph, wanted);
  graph.Rename(output, name);
  graph.mutable_value(output).type = OutputType(graph.type(output), graph.type(value));
  graph.AddOutput(output);
  return name;
}

}  // namespace

absl::Status SimplifyShapeArithmetic(Model& model) {
  const std::vector<Pass> passes = {{"simplify_shapes", SimplifyShapes},
                                    {"common_subexpressions", CommonSubexpressionsOfParameters},
                                    {"eliminate_dead", EliminateDead}};
  return RunPasses(model, passes, PassOptions()).status();
}

absl::StatusOr<GradientNames> MakeGradientModel(Model& model, const GradientModelOptions& options) {
  Graph& graph = model.graph;
  ONWARD_RETURN_IF_ERROR(ExpandGradientNodes(graph));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> of, Find(graph, options.of));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> wrt, Find(graph, options.wrt));
  GradientNames names;
  std::vector<GradientTarget> targets;
  for (const ValueId id : of) {
    const Type type = graph.type(id);
    if (!type.is_tensor() || (type.shape && type.shape->empty())) {
      targets.push_back({id, {}});
      continue;
    }
    names.inputs.push_back(TakeName(graph, absl::StrCat("grad/", graph.value(id).name)));
    targets.push_back({id, graph.AddInput(names.inputs.back(), type)});
  }
  GradientOptions gradient_options;
  gradient_options.allow_onward_ops = options.allow_onward_ops;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> gradients,
                          AddGradients(graph, targets, wrt, gradient_options));
  for (size_t i = 0; i < wrt.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(std::string name, AddGradientOutput(graph, gradients[i], wrt[i]));
    names.outputs.push_back(std::move(name));
  }
  if (!options.allow_onward_ops) MakePlainIdentities(graph);
  ONWARD_RETURN_IF_ERROR(SimplifyShapeArithmetic(model));
  return names;
}

}  // namespace onward
