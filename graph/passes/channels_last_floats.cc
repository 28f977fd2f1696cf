// Where kernels multiply images of bfloat16 with their channels last, convolutions hand their
// results to each other so; pools, sums over factors of channels and concatenations between them
// work in either layout. Values are turned where another op reads them.
#include <algorithm>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// Fewer channels or filters in a group leave most of a tile empty.
constexpr int64_t kMinOfGroup = 16;

bool IsFloatImage(const Graph& graph, ValueId value) {
  return value.valid() && graph.type(value).dtype == DType::kFloat32 && RankOf(graph, value) == 4;
}

// [batch, channels, 1, 1]
bool IsOnePixel(const Type& type) {
  const Dim one(1);
  return type.shape && type.shape->size() == 4 && (*type.shape)[2].SameAs(one) &&
         (*type.shape)[3].SameAs(one);
}

// A convolution with channels first that kernels can compute with channels last.
bool IsConv(const Graph& graph, const Node& node) {
  if (!node.Is("Conv") && !node.Is("FusedConv", kOnwardDomain)) return false;
  if (!IsFloatImage(graph, node.outputs[0]) || IsOnePixel(graph.type(node.outputs[0])))
    return false;
  const Tensor* filters = FixedConstant(graph, node.inputs[1]);
  if (filters == nullptr || filters->rank() != 4 || filters->num_elements() == 0) return false;
  const int64_t groups = node.attributes.Int("group", 1);
  if (groups == 1) return true;
  const int64_t channels = filters->dims()[1], each = filters->dims()[0] / groups;
  return channels == 1 ? each == 1 : std::min(channels, each) >= kMinOfGroup;
}

bool IsMaxPool(const Graph& graph, const Node& node) {
  return node.Is("MaxPool") && IsFloatImage(graph, node.inputs[0]) && node.outputs.size() == 1;
}

// Means of images, [batch, channels, 1, 1] or [batch, channels].
bool IsGlobalAverage(const Graph& graph, const Node& node) {
  if (!IsFloatImage(graph, node.inputs[0])) return false;
  if (node.Is("GlobalAveragePool")) return true;
  if (!node.Is("ReduceMean") || !InputOf(node, 1).valid()) return false;
  const auto axes = IntElements(graph, node.inputs[1]);
  if (!axes || axes->size() != 2) return false;
  const auto from_front = [](int64_t axis) { return axis < 0 ? axis + 4 : axis; };
  const int64_t low = std::min(from_front((*axes)[0]), from_front((*axes)[1]));
  return low == 2 && std::max(from_front((*axes)[0]), from_front((*axes)[1])) == 3;
}

bool IsConcat(const Graph& graph, const Node& node) {
  return node.Is("Concat") && IsFloatImage(graph, node.inputs[0]) &&
         node.attributes.Int("axis", 0) == 1;
}

bool HaveSameChannels(const Graph& graph, ValueId a, ValueId b) {
  const SymbolicDims &x = *graph.type(a).shape, &y = *graph.type(b).shape;
  return x[0].SameAs(y[0]) && x[1].SameAs(y[1]);
}

// The image of a product with a factor for each of its channels, which is the other operand;
// invalid for other nodes.
ValueId ScaledImage(const Graph& graph, const Node& node) {
  if (!node.Is("Mul")) return {};
  for (size_t i = 0; i < 2; ++i) {
    const ValueId image = node.inputs[i], factor = node.inputs[1 - i];
    if (IsFloatImage(graph, image) && IsFloatImage(graph, factor) &&
        IsOnePixel(graph.type(factor)) && HaveSameChannels(graph, image, factor))
      return image;
  }
  return {};
}

// x of ToChannelsFirst(x).
ValueId LastOf(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || !graph.node(maker).Is("ToChannelsFirst", kOnwardDomain)) return {};
  return graph.node(maker).inputs[0];
}

// Returns whether what makes the value may give it with the channels last.
bool IsGiven(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid()) return false;
  const Node& node = graph.node(maker);
  return IsConv(graph, node) || IsMaxPool(graph, node) || IsConcat(graph, node) ||
         ScaledImage(graph, node).valid() || LastOf(graph, value).valid();
}

bool IsConcatOfGiven(const Graph& graph, const Node& node) {
  return IsConcat(graph, node) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                              [&](ValueId x) { return IsGiven(graph, x); });
}

// Returns whether some reader works with the channels last, too.
bool IsTaken(const Graph& graph, ValueId value) {
  for (const NodeId id : graph.users(value)) {
    const Node& reader = graph.node(id);
    const bool is_residual = InputOf(reader, 3) == value;
    if ((IsConv(graph, reader) && (reader.inputs[0] == value || is_residual)) ||
        (reader.Is("ChannelsLastFusedConv", kOnwardDomain) && reader.inputs[0] == value) ||
        IsMaxPool(graph, reader) || IsGlobalAverage(graph, reader) ||
        IsConcatOfGiven(graph, reader) || ScaledImage(graph, reader) == value) {
      return true;
    }
  }
  return false;
}

ValueId ToFirst(Patch& patch, ValueId last) {
  return patch.AddNode("ToChannelsFirst", {last}, {}, kOnwardDomain);
}

std::optional<Patch> Conv(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConv(graph, node)) return std::nullopt;
  const ValueId last = LastOf(graph, node.inputs[0]);
  if (!last.valid() && !IsTaken(graph, node.outputs[0])) return std::nullopt;
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  if (last.valid()) inputs[0] = last;
  if (const ValueId residual = InputOf(node, 3); residual.valid()) {
    const ValueId given = LastOf(graph, residual);
    inputs[3] =
        given.valid() ? given : patch.AddNode("ToChannelsLast", {residual}, {}, kOnwardDomain);
  }
  const ValueId y =
      patch.AddNode("ChannelsLastFusedConv", std::move(inputs), node.attributes, kOnwardDomain);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

// A convolution that was there before what it reads came last.
std::optional<Patch> Data(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId last = LastOf(graph, node.inputs[0]);
  if (!last.valid()) return std::nullopt;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = last;
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("ChannelsLastFusedConv", std::move(inputs),
                                               node.attributes, kOnwardDomain));
  return patch;
}

std::optional<Patch> Back(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId last = LastOf(graph, node.inputs[0]);
  if (!last.valid()) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], last);
  return patch;
}

std::optional<Patch> MaxPool(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsMaxPool(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid()) return std::nullopt;
  Attributes attributes = node.attributes;
  attributes.Erase("storage_order");  // of Indices
  Patch patch(graph);
  const ValueId y = patch.AddNode("ChannelsLastMaxPool", {x}, std::move(attributes), kOnwardDomain);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

std::optional<Patch> GlobalAverage(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsGlobalAverage(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid()) return std::nullopt;
  Patch patch(graph);
  ValueId y = patch.AddNode("ChannelsLastGlobalAveragePool", {x}, {}, kOnwardDomain);
  if (node.Is("ReduceMean") && node.attributes.Int("keepdims", 1) == 0) {
    y = patch.AddNode("Squeeze", {y, patch.AddConstant("axes", Tensor::Of<int64_t>({2}, {2, 3}))});
  }
  patch.Replace(node.outputs[0], y);
  return patch;
}

std::optional<Patch> Scale(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId image = ScaledImage(graph, node);
  const ValueId x = LastOf(graph, image);
  if (!x.valid()) return std::nullopt;
  Patch patch(graph);
  const ValueId y =
      patch.AddNode("ChannelsLastScale", {x, OtherInput(node, image)}, {}, kOnwardDomain);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
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
  const ValueId y = patch.AddNode("Concat", std::move(inputs), {{"axis", int64_t{3}}});
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

constexpr Rule kRules[] = {
    {"channels_last_conv", "Conv", Conv},
    {"channels_last_conv", "onward.FusedConv", Conv},
    {"channels_last_data", "onward.ChannelsLastFusedConv", Data},
    {"channels_last_back", "onward.ToChannelsLast", Back},
    {"channels_last_pool", "MaxPool", MaxPool},
    {"channels_last_mean", "GlobalAveragePool", GlobalAverage},
    {"channels_last_mean", "ReduceMean", GlobalAverage},
    {"channels_last_scale", "Mul", Scale},
    {"channels_last_concat", "Concat", Channels},
};

}  // namespace

absl::StatusOr<int> PutFloatsChannelsLast(Graph& graph, const PassOptions& options, int& budget) {
  return options.narrow_products ? ApplyRules(graph, kRules, budget) : 0;
}

}  // namespace onward
