#include "executors/plan/place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executors/plan/choose_kernel.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

// Constants are given to each side by the program, not by copies in the graph.
bool IsMoved(const Graph& graph, ValueId input) {
  return input.valid() && (!graph.is_constant(input) || graph.is_input(input));
}

// Dims are known everywhere: these ops read no elements.
bool ReadsDimsOnly(const Node& node) { return node.Is("Shape") || node.Is("Size"); }

bool IsSmall(const Type& type) {
  constexpr int64_t kMost = 64;  // elements
  const std::optional<Dims> dims = type.static_dims();
  if (dims) return NumElements(*dims) <= kMost;
  return type.is_tensor() && !IsFloating(type.dtype) && type.shape && type.shape->size() <= 1;
}

// The values that follow from dims alone. The host computes them, since they are known before a
// run: shapes of what the device then makes. Large values are the device's all the same.
class DimArithmetic {
 public:
  explicit DimArithmetic(const Graph& graph) : graph_(graph) {}

  bool Includes(const Node& node) const {
    if (!node.subgraphs.empty()) return false;
    bool follows = ReadsDimsOnly(node);
    if (!follows) {
      for (const ValueId input : node.inputs) {
        if (!IsMoved(graph_, input)) continue;
        if (!Includes(input)) return false;
        follows = true;
      }
    }
    return follows && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
             return !output.valid() || IsSmall(graph_.type(output));
           });
  }
  bool Includes(ValueId value) const { return values_.count(value.index) > 0; }
  void Add(const Node& node) {
    for (const ValueId output : node.outputs) {
      if (output.valid()) values_.insert(output.index);
    }
  }

 private:
  const Graph& graph_;
  std::set<int32_t> values_;
};

class Placer {
 public:
  Placer(Graph& graph, const ExecutionProvider& device, const KernelOptions& options,
         const std::vector<std::string>& device_values)
      : graph_(graph),
        device_(device),
        options_(options),
        device_values_(device_values.begin(), device_values.end()),
        on_device_(static_cast<size_t>(graph.num_values()), false),
        of_dims_(graph) {}

  absl::Status Run() {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    for (const ValueId input : graph_.inputs())
      on_device_[static_cast<size_t>(input.index)] = LiesOnDevice(input);
    for (NodeId id : order) ONWARD_RETURN_IF_ERROR(PlaceNode(id));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId output = graph_.outputs()[i];
      const bool on_device = LiesOnDevice(output);
      if (on_device_[static_cast<size_t>(output.index)] != on_device)
        GraphEdit(graph_).SetOutput(static_cast<int>(i), CopiedOutput(output, on_device));
    }
    return absl::OkStatus();
  }

 private:
  // `id`: an input or output of the graph.
  bool LiesOnDevice(ValueId id) const { return device_values_.contains(graph_.value(id).name); }

  absl::Status PlaceNode(NodeId id) {
    uint64_t host_inputs = ~uint64_t{0}, host_outputs = ~uint64_t{0};
    bool device = false;
    const bool is_dim_arithmetic = of_dims_.Includes(graph_.node(id));
    if (graph_.node(id).subgraphs.empty() && !is_dim_arithmetic) {
      NodeSpec spec(graph_, id, options_);
      ONWARD_ASSIGN_OR_RETURN(const KernelChoice choice, ChooseKernel(device_, spec, false));
      device = choice.kernel != nullptr;
      if (device) {
        host_inputs = choice.kernel->host_inputs();
        host_outputs = choice.kernel->host_outputs();
      }
    }
    GraphEdit(graph_).node(id).provider = device ? std::string(device_.name()) : "cpu";
    // Copied() adds nodes, which moves those that are there.
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    const bool reads_dims_only = ReadsDimsOnly(graph_.node(id));
    for (size_t i = 0; i < inputs.size() && !reads_dims_only; ++i) {
      const ValueId input = inputs[i];
      if (!IsMoved(graph_, input)) continue;
      const bool wants_device = device && !(i < 64 && host_inputs >> i & 1);
      if (wants_device != on_device_[static_cast<size_t>(input.index)]) {
        GraphEdit(graph_).SetInput(id, static_cast<int>(i), Copied(input, wants_device));
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      const auto output = static_cast<size_t>(outputs[i].index);
      on_device_[output] = device && !(i < 64 && host_outputs >> i & 1);
    }
    if (is_dim_arithmetic) of_dims_.Add(graph_.node(id));
    CopyCaptures(id);
    return absl::OkStatus();
  }

  // Bodies run on the host.
  void CopyCaptures(NodeId id) {
    for (size_t i = 0; i < graph_.node(id).subgraphs.size(); ++i) {
      for (size_t c = 0; c < graph_.node(id).subgraphs[i].captures.size(); ++c) {
        const ValueId capture = graph_.node(id).subgraphs[i].captures[c];
        if (!on_device_[static_cast<size_t>(capture.index)]) continue;
        const ValueId copy = Copied(capture, false);  // moves the nodes
        GraphEdit(graph_).SetCapture(id, static_cast<int>(i), static_cast<int>(c), copy);
      }
    }
  }

  // The value on the other side, made once.
  ValueId Copied(ValueId value, bool to_device) {
    auto [it, inserted] = copies_.try_emplace({value.index, to_device});
    if (inserted)
      it->second = AddCopy(
          value, graph_.value(value).name + (to_device ? "/on_device" : "/on_host"), to_device);
    return it->second;
  }

  ValueId AddCopy(ValueId value, const std::string& name, bool to_device) {
    const ValueId copy = GraphEdit(graph_).AddValue(graph_.UniqueName(name), graph_.type(value));
    Node node;
    node.schema = onnx::OpSchemaRegistry::Schema("Copy", 1, kOnwardDomain);
    node.domain = kOnwardDomain;
    node.op_type = "Copy";
    node.name = graph_.value(copy).name;
    node.inputs = {value};
    node.outputs = {copy};
    node.attributes.Set("to", to_device ? std::string(device_.name()) : std::string("cpu"));
    node.provider = std::string(device_.name());
    GraphEdit(graph_).AddNode(std::move(node));
    on_device_.resize(static_cast<size_t>(graph_.num_values()), false);
    on_device_[static_cast<size_t>(copy.index)] = to_device;
    return copy;
  }

  // The graph output keeps its name: the value that is copied is renamed.
  ValueId CopiedOutput(ValueId output, bool to_device) {
    const char *here = "/on_host", *there = "/on_device";
    if (to_device) std::swap(here, there);
    const ValueId copy = AddCopy(output, graph_.value(output).name + here, to_device);
    GraphEdit(graph_).MoveName(output, copy, there);
    return copy;
  }

  Graph& graph_;
  const ExecutionProvider& device_;
  const KernelOptions& options_;
  const std::set<std::string> device_values_;
  std::vector<bool> on_device_;
  DimArithmetic of_dims_;
  std::map<std::pair<int32_t, bool>, ValueId> copies_;
};

bool IsCopy(const Node& node) { return node.Is("Copy", kOnwardDomain); }

}  // namespace

Crossings CountCrossings(const Graph& graph) {
  Crossings crossings;
  DimArithmetic of_dims(graph);
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return crossings;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    if (!IsCopy(node)) {
      if (node.provider == "cpu" && of_dims.Includes(node)) of_dims.Add(node);
      continue;
    }
    if (graph.is_input(node.inputs[0])) {
      ++crossings.inputs;
    } else if (graph.is_output(node.outputs[0])) {
      ++crossings.outputs;
    } else if (!of_dims.Includes(node.inputs[0])) {
      ++crossings.within;
    }
  }
  return crossings;
}

std::string HostNodesText(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.provider == "cpu") ++counts[node.op_type];
  }
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" "));
}

absl::Status Place(Graph& graph, const ExecutionProvider& device, const KernelOptions& options,
                   const std::vector<std::string>& device_values) {
  return Placer(graph, device, options, device_values).Run();
}

}  // namespace onward::executors
