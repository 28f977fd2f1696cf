#include "training/gradient/gradient_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/evaluate.h"
#include "graph/base/closest_name.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/gradient/expand_gradient.h"
#include "training/gradient/plain_identities.h"
#include "training/source/stop_gradients.h"

namespace onward::training {
namespace {

absl::StatusOr<std::vector<ValueId>> Find(const Graph& graph,
                                          const std::vector<std::string>& names) {
  std::vector<ValueId> found;
  for (const std::string& name : names) {
    const ValueId id = graph.FindValue(name);
    if (!id.valid()) {
      std::vector<std::string> known;
      for (int i = 0; i < graph.num_values(); ++i) known.push_back(graph.value({i}).name);
      return absl::NotFoundError(
          absl::StrCat("the model has no tensor '", name, "'", DidYouMean(name, known)));
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
  GraphEdit(graph).Rename(other, graph.UniqueName(wanted + "/inner"));
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
  GraphEdit(graph).Rename(output, name);
  GraphEdit(graph).type(output) = OutputType(graph.type(output), graph.type(value));
  GraphEdit(graph).AddOutput(output);
  return name;
}

}  // namespace

absl::Status SimplifyShapeArithmetic(Model& model) {
  const std::vector<Pass> passes = {{"simplify_shapes", SimplifyShapes},
                                    {"common_subexpressions", CommonSubexpressionsOfParameters},
                                    {"eliminate_dead", EliminateDead}};
  return RunPasses(model, passes, PassOptions()).status();
}

namespace {

// Makes inputs of the weights, so that no pass computes with their values; returns their names.
std::vector<std::string> HoldWeights(Graph& graph, const GradientModelOptions& options,
                                     int num_values) {
  std::vector<std::string> held;
  for (int i = 0; i < num_values; ++i) {
    const ValueId id{i};
    const std::string name = graph.value(id).name;
    if (!graph.is_constant(id) || graph.is_input(id) || !graph.type(id).is_tensor() ||
        !IsFloating(graph.type(id).dtype))
      continue;
    const auto named = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!options.initializers.empty() && !named(options.initializers) && !named(options.wrt))
      continue;
    ConstantToState(graph, id);
    held.push_back(name);
  }
  return held;
}

// Leaves out what constants other than weights compute, and what changes nothing.
absl::Status Simplify(Model& model, const GradientModelOptions& options, int num_values) {
  const std::vector<std::string> held = HoldWeights(model.graph, options, num_values);
  const std::vector<Pass> passes = {{"simplify_shapes", SimplifyShapes},
                                    {"eliminate_identity", EliminateIdentity},
                                    {"merge_chains", MergeChains},
                                    {"fold_constants", FoldConstants},
                                    {"common_subexpressions", CommonSubexpressions},
                                    {"eliminate_dead", EliminateDead}};
  PassOptions evaluating;
  evaluating.evaluate = [](const Graph& graph, NodeId id) {
    return executors::EvaluateOnCpu(graph, id);
  };
  ONWARD_RETURN_IF_ERROR(RunPasses(model, passes, evaluating).status());
  for (const std::string& name : held)
    GraphEdit(model.graph).RemoveInput(model.graph.FindValue(name));
  return RunPasses(model, {{"eliminate_dead", EliminateDead}}, PassOptions()).status();
}

}  // namespace

absl::StatusOr<GradientNames> MakeGradientModel(Model& model, const GradientModelOptions& options) {
  Graph& graph = model.graph;
  const int num_values = graph.num_values();
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
    targets.push_back({id, GraphEdit(graph).AddInput(names.inputs.back(), type)});
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
  ONWARD_RETURN_IF_ERROR(Simplify(model, options, num_values));
  return names;
}

}  // namespace onward::training
