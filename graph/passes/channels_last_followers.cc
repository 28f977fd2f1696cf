// Pools, factors of channels, sums, concatenations, splits and resized images, with their channels
// last. Where no convolution follows, arithmetic is left in float32.
#include <algorithm>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/channels_last_images.h"
#include "graph/rewrite/match.h"

namespace onward {
namespace {

bool IsMaxPool(const Graph& graph, const Node& node) {
  return node.Is("MaxPool") && IsFloatImage(graph, node.inputs[0]) && node.outputs.size() == 1;
}

// Means over windows of elements that all count; the image's channels are known.
bool IsAveragePool(const Graph& graph, const Node& node) {
  if (!node.Is("AveragePool") || !IsFloatImage(graph, node.inputs[0])) return false;
  const Attributes& of = node.attributes;
  const std::vector<int64_t> pads = of.Ints("pads");
  const bool is_padded = std::any_of(pads.begin(), pads.end(), [](int64_t x) { return x != 0; });
  return (*graph.type(node.inputs[0]).shape)[1].known() && of.Int("ceil_mode", 0) == 0 &&
         of.String("auto_pad", "NOTSET") == "NOTSET" &&
         (!is_padded || of.Int("count_include_pad", 0) != 0);
}

// Means of images, [batch, channels, 1, 1] or [batch, channels].
bool IsGlobalAverage(const Graph& graph, const Node& node) {
  if (node.Is("GlobalAveragePool")) return IsFloatImage(graph, node.inputs[0]);
  if (!node.Is("ReduceMean") || !InputOf(node, 1).valid() || !IsFloatImage(graph, node.inputs[0]))
    return false;
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

bool IsSplit(const Graph& graph, const Node& node) {
  return node.Is("Split") && IsFloatImage(graph, node.inputs[0]) &&
         node.attributes.Int("axis", 0) == 1;
}

// Axes are broadcast alike in either layout.
bool IsSum(const Graph& graph, const Node& node) {
  return node.Is("Add") && IsFloatImage(graph, node.inputs[0]) &&
         IsFloatImage(graph, node.inputs[1]);
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

// A constant number, or one for each channel of the image that is the other operand of Mul or Add.
struct ChannelNumbers {
  ValueId image;
  const Tensor* numbers = nullptr;
  int64_t channels = 0;

  // [1, channels, 1, 1]
  Tensor Spread() const {
    Tensor spread(DType::kFloat32, Dims{1, channels, 1, 1});
    for (int64_t c = 0; c < channels; ++c)
      spread.mutable_data<float>()[c] =
          numbers->data<float>()[numbers->num_elements() == 1 ? 0 : c];
    return spread;
  }
};

std::optional<ChannelNumbers> ReadChannelNumbers(const Graph& graph, const Node& node) {
  if (!node.Is("Mul") && !node.Is("Add")) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    ChannelNumbers found;
    found.image = node.inputs[i];
    found.numbers = FixedConstant(graph, node.inputs[1 - i]);
    if (found.numbers == nullptr || !IsFloatImage(graph, found.image)) continue;
    const Dim channels = (*graph.type(found.image).shape)[1];
    const DimsView dims = found.numbers->dims();
    const int64_t count = found.numbers->num_elements();
    const bool is_each =
        dims.size() >= 3 && dims.size() <= 4 && dims[dims.size() - 3] == count && dims.back() == 1;
    if (!channels.known() || dims.size() > 4 || (count != 1 && !is_each)) continue;
    found.channels = channels.value();
    if (count == 1 || count == found.channels) return found;
  }
  return std::nullopt;
}

// The constant scales or sizes of a Resize of all four axes.
const Tensor* ResizedTo(const Graph& graph, const Node& node) {
  if (!node.Is("Resize") || !IsFloatImage(graph, node.inputs[0]) || node.attributes.Has("axes") ||
      node.attributes.String("coordinate_transformation_mode", "") == "tf_crop_and_resize")
    return nullptr;
  for (const int i : {2, 3}) {
    if (!InputOf(node, i).valid()) continue;
    const Tensor* given = FixedConstant(graph, node.inputs[static_cast<size_t>(i)]);
    if (given != nullptr && given->num_elements() == 4) return given;
  }
  return nullptr;
}

bool ReadsImage(const Graph& graph, const Node& node, ValueId image) {
  if (const auto found = ReadChannelNumbers(graph, node)) return found->image == image;
  if (IsConcat(graph, node) || IsSum(graph, node)) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId x) { return MayComeLast(graph, x); });
  }
  if (node.Is("Mul")) return ScaledImage(graph, node) == image;
  return node.inputs[0] == image && IsFollower(graph, node);
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

// A convolution of each channel with equal weights.
std::optional<Patch> AveragePool(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsAveragePool(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid() || !IsTaken(graph, node.outputs[0])) return std::nullopt;
  const int64_t channels = (*graph.type(node.inputs[0]).shape)[1].value();
  const std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape");
  Tensor weights(DType::kFloat32, Dims{channels, 1, kernel[0], kernel[1]});
  std::fill_n(weights.mutable_data<float>(), weights.num_elements(),
              1.0f / static_cast<float>(kernel[0] * kernel[1]));
  Attributes attributes = node.attributes;
  attributes.Erase("ceil_mode"), attributes.Erase("count_include_pad");
  attributes.Set("group", channels);
  Patch patch(graph);
  const ValueId y =
      patch.AddNode("ChannelsLastFusedConv", {x, patch.AddConstant("weights", std::move(weights))},
                    WithType(std::move(attributes), graph.type(x).dtype), kOnwardDomain);
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

// The factors are ones, or those of a scale that nothing else reads.
std::optional<Patch> Shift(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const auto found = ReadChannelNumbers(graph, node);
  ValueId x = found ? LastOf(graph, found->image) : ValueId();
  if (!x.valid() || !IsTaken(graph, node.outputs[0])) return std::nullopt;
  Patch patch(graph);
  ValueId factors;
  if (const NodeId maker = Maker(graph, x); maker.valid()) {
    const Node& scale = graph.node(maker);
    if (scale.Is("ChannelsLastScale", kOnwardDomain) && NumInputs(scale) == 2 &&
        ReadOnce(graph, x) && ReadOnce(graph, found->image))
      x = scale.inputs[0], factors = scale.inputs[1];
  }
  if (!factors.valid()) {
    Tensor ones(DType::kFloat32, Dims{1, found->channels, 1, 1});
    std::fill_n(ones.mutable_data<float>(), ones.num_elements(), 1.0f);
    factors = patch.AddConstant("ones", std::move(ones));
  }
  const ValueId terms = patch.AddConstant("terms", found->Spread());
  const ValueId y = patch.AddNode("ChannelsLastScale", {x, factors, terms}, {}, kOnwardDomain);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

std::optional<Patch> Scale(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (const auto found = ReadChannelNumbers(graph, node)) {
    const ValueId x = LastOf(graph, found->image);
    if (!x.valid() || !IsTaken(graph, node.outputs[0])) return std::nullopt;
    Patch patch(graph);
    const ValueId factors = patch.AddConstant("factors", found->Spread());
    const ValueId y = patch.AddNode("ChannelsLastScale", {x, factors}, {}, kOnwardDomain);
    patch.Replace(node.outputs[0], ToFirst(patch, y));
    return patch;
  }
  const ValueId image = ScaledImage(graph, node);
  const ValueId x = LastOf(graph, image);
  if (!x.valid()) return std::nullopt;
  Patch patch(graph);
  const ValueId y =
      patch.AddNode("ChannelsLastScale", {x, OtherInput(node, image)}, {}, kOnwardDomain);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

// The inputs with their channels last; empty where one of them does not come so.
std::vector<ValueId> AllLast(const Graph& graph, const Node& node) {
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(LastOf(graph, input));
    if (!inputs.back().valid()) return {};
  }
  return inputs;
}

std::optional<Patch> Channels(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConcat(graph, node)) return std::nullopt;
  std::vector<ValueId> inputs = AllLast(graph, node);
  if (inputs.empty()) return std::nullopt;
  Patch patch(graph);
  const ValueId y = patch.AddNode("Concat", std::move(inputs), {{"axis", int64_t{3}}});
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

std::optional<Patch> Sum(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsSum(graph, node) || !IsTaken(graph, node.outputs[0])) return std::nullopt;
  std::vector<ValueId> inputs = AllLast(graph, node);
  if (inputs.empty()) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], ToFirst(patch, patch.AddNode("Add", std::move(inputs))));
  return patch;
}

std::optional<Patch> Parts(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = IsSplit(graph, node) ? LastOf(graph, node.inputs[0]) : ValueId();
  if (!x.valid()) return std::nullopt;
  Node split;
  split.op_type = node.op_type;
  split.inputs = node.inputs;
  split.inputs[0] = x;
  split.attributes = node.attributes;
  split.attributes.Set("axis", int64_t{3});
  std::vector<bool> wanted;
  for (const ValueId output : node.outputs) wanted.push_back(output.valid());
  Patch patch(graph);
  const std::vector<ValueId> parts = patch.AddNodeWithOutputs(std::move(split), wanted);
  for (size_t i = 0; i < parts.size(); ++i)
    if (wanted[i]) patch.Replace(node.outputs[i], ToFirst(patch, parts[i]));
  return patch;
}

std::optional<Patch> Resize(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Tensor* given = ResizedTo(graph, node);
  const ValueId x = given == nullptr ? ValueId() : LastOf(graph, node.inputs[0]);
  if (!x.valid() || !IsTaken(graph, node.outputs[0])) return std::nullopt;
  Patch patch(graph);
  std::vector<ValueId> inputs = {x, ValueId()};
  if (given->dtype() == DType::kInt64) {
    const int64_t* n = given->data<int64_t>();
    inputs.emplace_back();
    inputs.push_back(
        patch.AddConstant("sizes", Tensor::Of<int64_t>({4}, {n[0], n[2], n[3], n[1]})));
  } else {
    const float* n = given->data<float>();
    inputs.push_back(patch.AddConstant("scales", Tensor::Of<float>({4}, {n[0], n[2], n[3], n[1]})));
  }
  const ValueId y = patch.AddNode("Resize", std::move(inputs), node.attributes);
  patch.Replace(node.outputs[0], ToFirst(patch, y));
  return patch;
}

constexpr Rule kRules[] = {
    {"channels_last_pool", "MaxPool", MaxPool},
    {"channels_last_pool", "AveragePool", AveragePool},
    {"channels_last_mean", "GlobalAveragePool", GlobalAverage},
    {"channels_last_mean", "ReduceMean", GlobalAverage},
    {"channels_last_scale", "Mul", Scale},
    {"channels_last_concat", "Concat", Channels},
    {"channels_last_scale", "Add", Shift},
    {"channels_last_sum", "Add", Sum},
    {"channels_last_split", "Split", Parts},
    {"channels_last_resize", "Resize", Resize},
};

}  // namespace

bool IsFollower(const Graph& graph, const Node& node) {
  return IsMaxPool(graph, node) || IsAveragePool(graph, node) || IsConcat(graph, node) ||
         IsSum(graph, node) || IsSplit(graph, node) || ResizedTo(graph, node) != nullptr ||
         ScaledImage(graph, node).valid() || ReadChannelNumbers(graph, node);
}

bool FollowsImage(const Graph& graph, const Node& node, ValueId image) {
  if (IsGlobalAverage(graph, node)) return node.inputs[0] == image;
  return ReadsImage(graph, node, image) &&
         std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId y) { return y.valid() && IsTaken(graph, y); });
}

absl::Span<const Rule> FollowerRules() { return kRules; }

}  // namespace onward
