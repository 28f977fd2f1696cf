#include "graph/rewrite/compose.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/infer/dim_names.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/keep_outputs.h"
#include "onward/status.h"

namespace onward {
namespace {

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

std::string NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  return absl::StrCat("'",
                      absl::StrJoin(ids, "', '",
                                    [&](std::string* text, ValueId id) {
                                      absl::StrAppend(text, graph.value(id).name);
                                    }),
                      "'");
}

bool Has(const Graph& graph, const std::vector<ValueId>& ids, const std::string& name) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return graph.value(id).name == name; });
}

std::string WhereOf(const CompositionStep& step) { return absl::StrCat("step '", step.name, "'"); }

absl::Status CheckNames(const CompositionStep& step) {
  const Graph& graph = step.model.graph;
  for (const auto& [input, tensor] : step.inputs)
    if (!Has(graph, graph.inputs(), input))
      return Wrong(WhereOf(step), absl::StrCat("the model has no input '", input, "'; it has ",
                                               NamesOf(graph, graph.inputs())));
  for (const auto& [output, tensor] : step.outputs)
    if (!Has(graph, graph.outputs(), output))
      return Wrong(WhereOf(step), absl::StrCat("the model has no output '", output, "'; it has ",
                                               NamesOf(graph, graph.outputs())));
  for (const ValueId input : graph.inputs()) {
    const std::string& name = graph.value(input).name;
    if (step.inputs.count(name) == 0 && !graph.is_constant(input))
      return Wrong(WhereOf(step), absl::StrCat("no tensor is mapped to its input '", name, "'"));
  }
  return absl::OkStatus();
}

class Composer {
 public:
  explicit Composer(Composition& composition) : composition_(composition) {}

  absl::StatusOr<Model> Run() {
    ONWARD_RETURN_IF_ERROR(CheckMakers());
    for (const std::string& input : composition_.inputs) ONWARD_RETURN_IF_ERROR(AddInput(input));
    std::vector<CompositionStep*> waiting;
    for (CompositionStep& step : composition_.steps) waiting.push_back(&step);
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const auto* step) {
        return std::all_of(step->inputs.begin(), step->inputs.end(),
                           [&](const auto& each) { return tensors_.count(each.second) > 0; });
      });
      if (ready == waiting.end()) return Circle(waiting);
      ONWARD_RETURN_IF_ERROR(AddStep(**ready));
      waiting.erase(ready);
    }
    for (const std::string& output : composition_.outputs)
      ONWARD_RETURN_IF_ERROR(AddOutput(output));
    std::vector<int> all(composition_.outputs.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    ONWARD_ASSIGN_OR_RETURN(made_.graph, KeepOutputs(std::move(made_.graph), all));
    ForgetInferred(made_.graph);
    ONWARD_RETURN_IF_ERROR(InferGraph(made_.graph));
    return std::move(made_);
  }

 private:
  struct Made {
    ValueId id;
    std::string by;  // for errors
  };

  // Each tensor is an input or made by one step; those that are read are made.
  absl::Status CheckMakers() {
    std::map<std::string, std::string> makers;
    for (const std::string& input : composition_.inputs)
      if (!makers.emplace(input, "an input").second)
        return Wrong(absl::StrCat("input '", input, "'"), "is there twice");
    for (const CompositionStep& step : composition_.steps) {
      ONWARD_RETURN_IF_ERROR(CheckNames(step));
      for (const auto& [output, tensor] : step.outputs) {
        const auto [maker, added] = makers.emplace(tensor, WhereOf(step));
        if (!added)
          return Wrong(WhereOf(step),
                       absl::StrCat("output '", output, "' makes the tensor '", tensor, "', which ",
                                    maker->second, maker->second == "an input" ? " is" : " makes",
                                    " already"));
      }
    }
    for (const CompositionStep& step : composition_.steps)
      for (const auto& [input, tensor] : step.inputs)
        if (makers.count(tensor) == 0)
          return Wrong(WhereOf(step),
                       absl::StrCat("input '", input, "' reads the tensor '", tensor,
                                    "', which is not an input and which no step makes"));
    for (const std::string& output : composition_.outputs)
      if (makers.count(output) == 0)
        return Wrong(absl::StrCat("output '", output, "'"), "no step makes this tensor");
    return absl::OkStatus();
  }

  static absl::Status Circle(const std::vector<CompositionStep*>& waiting) {
    return absl::InvalidArgumentError(
        absl::StrCat("these steps wait for each other's tensors: '",
                     absl::StrJoin(waiting, "', '",
                                   [](std::string* text, const CompositionStep* step) {
                                     absl::StrAppend(text, step->name);
                                   }),
                     "'"));
  }

  absl::Status AddInput(const std::string& tensor) {
    for (const CompositionStep& step : composition_.steps) {
      const Graph& graph = step.model.graph;
      for (const ValueId input : graph.inputs()) {
        const auto mapped = step.inputs.find(graph.value(input).name);
        if (mapped == step.inputs.end() || mapped->second != tensor) continue;
        Type type = graph.type(input);
        if (composition_.one_batch && type.shape && !type.shape->empty() &&
            !type.shape->front().known())
          type.shape->front() = Dim::Symbol("batch");
        const ValueId id = GraphEdit(made_.graph).AddInput(tensor, std::move(type));
        tensors_.emplace(tensor, Made{id, "which is an input"});
        return absl::OkStatus();
      }
    }
    return Wrong(absl::StrCat("input '", tensor, "'"), "no step reads this tensor");
  }

  absl::Status AddStep(CompositionStep& step) {
    Graph& from = step.model.graph;
    std::vector<ValueId> to(static_cast<size_t>(from.num_values()));
    const auto moved = [&](ValueId id) -> ValueId& { return to[static_cast<size_t>(id.index)]; };
    for (const ValueId input : from.inputs()) {
      const auto mapped = step.inputs.find(from.value(input).name);
      if (mapped == step.inputs.end()) continue;
      const Made& made = tensors_.at(mapped->second);
      ONWARD_RETURN_IF_ERROR(CheckTypes(step, input, mapped->second, made));
      moved(input) = made.id;
    }
    for (int i = 0; i < from.num_values(); ++i)
      if (!to[static_cast<size_t>(i)].valid()) to[static_cast<size_t>(i)] = AddValue(step, {i});
    for (const NodeId id : from.node_ids()) MoveNode(step, id, to);
    for (const ValueId output : from.outputs()) {
      const auto mapped = step.outputs.find(from.value(output).name);
      if (mapped != step.outputs.end())
        tensors_.emplace(mapped->second,
                         Made{moved(output), absl::StrCat("which ", WhereOf(step), " makes")});
    }
    for (const auto& [domain, version] : step.model.opsets) {
      int64_t& all = made_.opsets[domain];
      all = std::max(all, version);
    }
    made_.ir_version = std::max(made_.ir_version, step.model.ir_version);
    return absl::OkStatus();
  }

  absl::Status CheckTypes(const CompositionStep& step, ValueId input, const std::string& tensor,
                          const Made& made) const {
    const Type &wanted = step.model.graph.type(input), &got = made_.graph.type(made.id);
    if (wanted.CompatibleWith(got)) return absl::OkStatus();
    return Wrong(WhereOf(step), absl::StrCat("input '", step.model.graph.value(input).name, "' is ",
                                             wanted.ToString(), ", but the tensor '", tensor, "', ",
                                             made.by, ", is ", got.ToString()));
  }

  ValueId AddValue(const CompositionStep& step, ValueId id) {
    const ValueData& value = step.model.graph.value(id);
    Graph& graph = made_.graph;
    GraphEdit edit(graph);
    const ValueId made =
        edit.AddValue(graph.UniqueName(absl::StrCat(step.name, "/", value.name)), value.type);
    edit.constant(made) = value.constant;
    edit.doc_string(made) = value.doc_string;
    edit.metadata(made) = value.metadata;
    return made;
  }

  void MoveNode(CompositionStep& step, NodeId id, const std::vector<ValueId>& to) {
    Node node = std::move(GraphEdit(step.model.graph).node(id));
    const auto map_all = [&](std::vector<ValueId>& ids) {
      for (ValueId& each : ids)
        if (each.valid()) each = to[static_cast<size_t>(each.index)];
    };
    map_all(node.inputs);
    map_all(node.outputs);
    for (Subgraph& subgraph : node.subgraphs) map_all(subgraph.captures);
    if (!node.name.empty()) node.name = absl::StrCat(step.name, "/", node.name);
    GraphEdit(made_.graph).AddNode(std::move(node));
  }

  absl::Status AddOutput(const std::string& tensor) {
    Graph& graph = made_.graph;
    GraphEdit edit(graph);
    ValueId id = tensors_.at(tensor).id;
    if (!graph.value(id).producer.valid() || graph.is_output(id)) {
      Node identity;
      identity.op_type = "Identity";
      identity.schema = FindSchema("Identity", "");
      identity.inputs = {id};
      identity.outputs = {edit.AddValue(graph.UniqueName(tensor), graph.type(id))};
      id = identity.outputs[0];
      edit.AddNode(std::move(identity));
    }
    if (const ValueId other = graph.FindValue(tensor); other.valid() && other != id) {
      if (graph.is_input(other) || graph.is_output(other))
        return Wrong(absl::StrCat("output '", tensor, "'"), "is there twice");
      edit.Rename(other, graph.UniqueName(absl::StrCat(tensor, "/inner")));
    }
    edit.Rename(id, tensor);
    edit.AddOutput(id);
    return absl::OkStatus();
  }

  Composition& composition_;
  Model made_;
  std::map<std::string, Made> tensors_;
};

}  // namespace

absl::StatusOr<Model> Compose(Composition composition) { return Composer(composition).Run(); }

}  // namespace onward
