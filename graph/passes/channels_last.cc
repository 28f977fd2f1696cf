// Convolutions of 8-bit integers hand their results to each other with the channels last, as their
// kernels read and make them; sums, products, tables, maxima of windows and concatenations between
// them work in either layout. Transposes stay where another op reads such a value.
#include <algorithm>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/dequantized.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

using Perm = std::vector<int64_t>;

const Perm kFirstFromLast = {0, 3, 1, 2}, kLastFromFirst = {0, 2, 3, 1};

// `node` may have another layout already.
bool IsConv(const Graph& graph, const Node& node) {
  const bool is_ours = node.Is("ChannelsLastConv", kOnwardDomain);
  if (!is_ours && !node.Is("QLinearConv")) return false;
  const Tensor* filters = FixedConstant(graph, node.inputs[3]);
  return filters != nullptr && filters->rank() == 4;
}

// [batch, channels, 1, 1], whose layouts hold the same.
bool IsOnePixel(const Type& type) {
  if (!type.shape || type.shape->size() != 4) return false;
  const Dim one(1);
  return (*type.shape)[2].SameAs(one) && (*type.shape)[3].SameAs(one);
}

bool IsPair(const Graph& graph, const Node& node) {
  if (!node.Is("QLinearAdd", kMicrosoftDomain) && !node.Is("QLinearMul", kMicrosoftDomain))
    return false;
  const Type& a = graph.type(node.inputs[0]);
  const Type& b = graph.type(node.inputs[3]);
  return a.shape && a.shape->size() == 4 && (SameShape(a, b) || IsOnePixel(a) || IsOnePixel(b));
}

bool IsMap(const Graph& graph, const Node& node) {
  return node.Is("MapBytes", kOnwardDomain) && RankOf(graph, node.inputs[0]) == 4;
}

bool IsPool(const Graph& graph, const Node& node) {
  return node.Is("MaxPool") && IsByte(graph.type(node.inputs[0]).dtype) &&
         node.outputs.size() == 1 && RankOf(graph, node.inputs[0]) == 4;
}

// Returns whether the node puts channels behind each other.
bool IsConcat(const Graph& graph, const Node& node) {
  return node.Is("Concat") && IsByte(graph.type(node.inputs[0]).dtype) &&
         RankOf(graph, node.inputs[0]) == 4 && node.attributes.Int("axis", 0) == 1;
}

// x of Transpose(x) to channels first.
ValueId LastOf(const Graph& graph, ValueId value) {
  const Node* transpose = MadeBy(graph, value, "Transpose");
  if (transpose == nullptr || transpose->attributes.Ints("perm") != kFirstFromLast) return {};
  return transpose->inputs[0];
}

// Returns whether what makes the value may give it with the channels last.
bool IsGiven(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid()) return false;
  const Node& node = graph.node(maker);
  return IsConv(graph, node) || IsPair(graph, node) || IsMap(graph, node) || IsPool(graph, node) ||
         IsConcat(graph, node) || LastOf(graph, value).valid();
}

bool IsConcatOfGiven(const Graph& graph, const Node& node) {
  return IsConcat(graph, node) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                              [&](ValueId x) { return IsGiven(graph, x); });
}

// Returns whether some reader works with the channels last, too.
bool IsTaken(const Graph& graph, ValueId value) {
  for (const NodeId id : graph.users(value)) {
    const Node& reader = graph.node(id);
    if (IsPair(graph, reader) || IsMap(graph, reader) || IsPool(graph, reader) ||
        IsConcatOfGiven(graph, reader) || (IsConv(graph, reader) && reader.inputs[0] == value)) {
      return true;
    }
  }
  return false;
}

ValueId AddFirst(Patch& patch, ValueId last) {
  return patch.AddNode("Transpose", {last}, {{"perm", kFirstFromLast}});
}

std::optional<Patch> Result(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConv(graph, node) || node.attributes.Int("y_channels_last", 0) != 0 ||
      !IsTaken(graph, node.outputs[0])) {
    return std::nullopt;
  }
  Attributes attributes = node.attributes;
  attributes.Set("y_channels_last", int64_t{1});
  Patch patch(graph);
  const ValueId last =
      patch.AddNode("ChannelsLastConv", node.inputs, std::move(attributes), kOnwardDomain);
  patch.Replace(node.outputs[0], AddFirst(patch, last));
  return patch;
}

std::optional<Patch> Data(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConv(graph, node) || node.attributes.Int("x_channels_last", 0) != 0) return std::nullopt;
  const ValueId last = LastOf(graph, node.inputs[0]);
  if (!last.valid()) return std::nullopt;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = last;
  Attributes attributes = node.attributes;
  attributes.Set("x_channels_last", int64_t{1});
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("ChannelsLastConv", std::move(inputs),
                                               std::move(attributes), kOnwardDomain));
  return patch;
}

std::optional<Patch> Pair(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsPair(graph, node)) return std::nullopt;
  const ValueId a = LastOf(graph, node.inputs[0]), b = LastOf(graph, node.inputs[3]);
  if (!a.valid() && !b.valid()) return std::nullopt;
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  for (const size_t i : {size_t{0}, size_t{3}}) {
    if (const ValueId last = i == 0 ? a : b; last.valid()) {
      inputs[i] = last;
    } else if (IsOnePixel(graph.type(node.inputs[i]))) {
      inputs[i] = patch.AddNode("Transpose", {node.inputs[i]}, {{"perm", kLastFromFirst}});
    } else {
      return std::nullopt;
    }
  }
  const ValueId last =
      patch.AddNode(node.op_type, std::move(inputs), node.attributes, kMicrosoftDomain);
  patch.Replace(node.outputs[0], AddFirst(patch, last));
  return patch;
}

std::optional<Patch> Map(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsMap(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid()) return std::nullopt;
  Patch patch(graph);
  const ValueId last =
      patch.AddNode("MapBytes", {x, node.inputs[1]}, node.attributes, kOnwardDomain);
  patch.Replace(node.outputs[0], AddFirst(patch, last));
  return patch;
}

std::optional<Patch> MaxPool(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsPool(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid()) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.Erase("storage_order");  // of Indices
  Patch patch(graph);
  const ValueId last =
      patch.AddNode("ChannelsLastMaxPool", {x}, std::move(attributes), kOnwardDomain);
  patch.Replace(node.outputs[0], AddFirst(patch, last));
  return patch;
}

std::optional<Patch> Channels(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConcat(graph, node)) return std::nullopt;
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(LastOf(graph, input));
    if (!inputs.back().valid()) return std::nullopt;
  }
  Patch patch(graph);
  const ValueId last = patch.AddNode("Concat", std::move(inputs), {{"axis", int64_t{3}}});
  patch.Replace(node.outputs[0], AddFirst(patch, last));
  return patch;
}

// com.microsoft.QLinearConv, which models that ONNX Runtime has optimised contain, of either
// layout.
std::optional<Patch> Microsoft(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (RankOf(graph, node.inputs[0]) != 4) return std::nullopt;
  Attributes attributes = node.attributes;
  const int64_t last = attributes.Int("channels_last", 0);
  attributes.Erase("channels_last");
  attributes.Set("x_channels_last", last);
  attributes.Set("y_channels_last", last);
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("ChannelsLastConv", node.inputs,
                                               std::move(attributes), kOnwardDomain));
  return patch;
}

constexpr Rule kRules[] = {
    {"channels_last_conv", "com.microsoft.QLinearConv", Microsoft},
    {"channels_last_data", "QLinearConv", Data},
    {"channels_last_data", "onward.ChannelsLastConv", Data},
    {"channels_last_result", "QLinearConv", Result},
    {"channels_last_result", "onward.ChannelsLastConv", Result},
    {"channels_last_sum", "com.microsoft.QLinearAdd", Pair},
    {"channels_last_map", "onward.MapBytes", Map},
    {"channels_last_pool", "MaxPool", MaxPool},
    {"channels_last_concat", "Concat", Channels},
    {"channels_last_product", "com.microsoft.QLinearMul", Pair},
};

}  // namespace

absl::StatusOr<int> PutChannelsLast(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
