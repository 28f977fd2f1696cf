#include "training/prepare/head.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/closest_name.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/keep_outputs.h"
#include "onward/dtype.h"
#include "onward/nn/dropout.h"
#include "onward/nn/linear.h"
#include "onward/status.h"

namespace onward::training {
namespace {

absl::StatusOr<ValueId> FindBase(const Graph& graph, const std::string& name) {
  const ValueId base = graph.FindValue(name);
  if (!base.valid()) {
    std::vector<std::string> names;
    for (const NodeId id : graph.node_ids()) {
      for (const ValueId output : graph.node(id).outputs)
        if (output.valid()) names.push_back(graph.value(output).name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no value '", name, "'", DidYouMean(name, names)));
  }
  const Type& type = graph.type(base);
  if (!type.is_tensor() || !IsFloating(type.dtype) || !type.shape || type.shape->empty() ||
      !type.shape->back().known() || type.shape->back().value() < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is ", type.ToString(),
                     "; a head stands on a float tensor whose last dim is known"));
  return base;
}

absl::StatusOr<std::vector<std::string>> Write(const HeadConfig& config, uint64_t seed,
                                               Model& model) {
  Graph& graph = model.graph;
  ONWARD_ASSIGN_OR_RETURN(const ValueId base, FindBase(graph, config.of()));
  if (config.outputs() < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("a head needs at least one output, got ", config.outputs()));
  if (config.dropout() < 0 || config.dropout() >= 1)
    return absl::InvalidArgumentError(
        absl::StrCat("dropout must be in [0, 1), got ", config.dropout()));
  const bool of_modules = graph.metadata.contains(nn::kModulesKey);
  GraphSink sink(graph);
  Expr x = sink.Value(base);
  nn::Module root(sink, {x.dtype(), seed});
  if (config.dropout() > 0) x = nn::Dropout{config.dropout()}(x);
  nn::Linear layer(root, config.name(), x.type().shape->back().value(), config.outputs());
  const Expr y = layer(x);
  ONWARD_RETURN_IF_ERROR(sink.status());
  // An imported model's other parameters do not say that they are some.
  if (!of_modules) graph.metadata.erase(nn::kModulesKey);
  if (graph.FindValue(config.name()).valid())
    return absl::InvalidArgumentError(
        absl::StrCat("the model has a value '", config.name(), "' already"));
  GraphEdit(graph).Rename(y.id(), config.name());
  GraphEdit(graph).AddOutput(y.id());
  const std::vector<std::string> names = {graph.value(layer.weight.id()).name,
                                          graph.value(layer.bias.id()).name};
  const int last = static_cast<int>(graph.outputs().size()) - 1;
  ONWARD_ASSIGN_OR_RETURN(graph, KeepOutputs(std::move(graph), {last}));
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AddHead(const HeadConfig& config, uint64_t seed,
                                                 Model& model) {
  auto names = Write(config, seed, model);
  if (!names.ok()) return Annotate(names.status(), "head:");
  return names;
}

}  // namespace onward::training
