// Convolutions hand their results to each other with the channels last, as bfloat16 where kernels
// multiply that; pools, sums over factors of channels and concatenations between them
// work in either layout. Values are turned where another op reads them.
#include <algorithm>

#include "graph/ops/onward_schemas.h"
#include "graph/passes/channels_last_images.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// Fewer channels or filters in a group leave most of a tile empty.
constexpr int64_t kMinOfGroup = 16;

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

// Returns whether convolutions with too few filters for a vector have a small part of the products.
bool FillsVectors(const Graph& graph) {
  double wide = 0, narrow = 0;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!IsConv(graph, node)) continue;
    const Tensor& filters = *FixedConstant(graph, node.inputs[1]);
    auto products = static_cast<double>(filters.num_elements());
    const SymbolicDims& y = *graph.type(node.outputs[0]).shape;
    for (const Dim& size : {y[2], y[3]})
      if (size.known()) products *= static_cast<double>(size.value());
    (filters.dims()[0] < kMinOfGroup ? narrow : wide) += products;
  }
  return narrow * 8 <= wide;
}

// Windows side by side, without padding: each output pixel is one of filters of an input pixel.
struct SideBySide {
  const Tensor* filters = nullptr;  // [channels, filters, height, width]
  const Tensor* bias = nullptr;
  SymbolicDims x;
};

std::optional<SideBySide> ReadSideBySide(const Graph& graph, const Node& node) {
  if (!node.Is("ConvTranspose") || !IsFloatImage(graph, node.inputs[0])) return std::nullopt;
  SideBySide found;
  found.x = *graph.type(node.inputs[0]).shape;
  found.filters = FixedConstant(graph, node.inputs[1]);
  if (found.filters == nullptr || found.filters->rank() != 4 || found.filters->num_elements() == 0)
    return std::nullopt;
  if (const ValueId bias = InputOf(node, 2); bias.valid()) {
    found.bias = FixedConstant(graph, bias);
    if (found.bias == nullptr) return std::nullopt;
  }
  const Attributes& of = node.attributes;
  const auto are_all = [&](std::string_view name, int64_t value) {
    const std::vector<int64_t> given = of.Ints(name);
    return std::all_of(given.begin(), given.end(), [&](int64_t n) { return n == value; });
  };
  const DimsView dims = found.filters->dims();
  if (of.Ints("strides", {1, 1}) != std::vector<int64_t>{dims[2], dims[3]} ||
      of.Has("output_shape") || of.String("auto_pad", "NOTSET") != "NOTSET" ||
      of.Int("group", 1) != 1 || !are_all("pads", 0) || !are_all("output_padding", 0) ||
      !are_all("dilations", 1))
    return std::nullopt;
  return found;
}

// Filters of single pixels, those of a place in the window after those of the place before.
Tensor PixelFilters(const Tensor& w) {
  const int64_t channels = w.dims()[0], filters = w.dims()[1], places = w.dims()[2] * w.dims()[3];
  Tensor pixels(DType::kFloat32, Dims{places * filters, channels, 1, 1});
  float* to = pixels.mutable_data<float>();
  for (int64_t row = 0; row < places * filters; ++row) {
    for (int64_t c = 0; c < channels; ++c)
      *to++ = w.data<float>()[(c * filters + row % filters) * places + row / filters];
  }
  return pixels;
}

Tensor RepeatedBias(const Tensor& bias, int64_t places) {
  const int64_t filters = bias.num_elements();
  Tensor repeated(DType::kFloat32, Dims{places * filters});
  for (int64_t i = 0; i < places; ++i)
    std::copy_n(bias.data<float>(), filters, repeated.mutable_data<float>() + i * filters);
  return repeated;
}

template <DType kType>
std::optional<Patch> Conv(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (!IsConv(graph, node)) return std::nullopt;
  const ValueId x = node.inputs[0], residual = InputOf(node, 3);
  if (!LastOf(graph, x).valid() && !IsTaken(graph, node.outputs[0])) return std::nullopt;
  Patch patch(graph);
  const auto last = [&](ValueId image) {
    const ValueId given = LastOf(graph, image);
    if (given.valid()) return given;
    return patch.AddNode("ToChannelsLast", {image}, WithType({}, kType), kOnwardDomain);
  };
  std::vector<ValueId> inputs = node.inputs;
  // A convolution of bfloat16 rounds an image of float32 itself.
  if (kType == DType::kFloat32 || LastOf(graph, x).valid()) inputs[0] = last(x);
  if (residual.valid()) inputs[3] = last(residual);
  const ValueId y = patch.AddNode("ChannelsLastFusedConv", std::move(inputs),
                                  WithType(node.attributes, kType), kOnwardDomain);
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

// A model's own turns of float32 images, next to convolutions.
std::optional<Patch> Turned(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!IsFloatImage(graph, x)) return std::nullopt;
  const std::vector<int64_t> perm = node.attributes.Ints("perm");
  const NodeId maker = Maker(graph, x);
  const bool is_image =
      LastOf(graph, x).valid() || (maker.valid() && IsConv(graph, graph.node(maker)));
  Patch patch(graph);
  if (perm == std::vector<int64_t>{0, 2, 3, 1} && is_image) {
    patch.Replace(
        y, patch.AddNode("ToChannelsLast", {x}, WithType({}, DType::kFloat32), kOnwardDomain));
    return patch;
  }
  if (perm != std::vector<int64_t>{0, 3, 1, 2} || !IsTaken(graph, y)) return std::nullopt;
  patch.Replace(y, ToFirst(patch, x));
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

template <DType kType>
std::optional<Patch> Transposed(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<SideBySide> found = ReadSideBySide(graph, node);
  if (!found) return std::nullopt;
  const ValueId last = LastOf(graph, node.inputs[0]);
  const bool is_sized = found->x[2].known() && found->x[3].known();
  if (!last.valid() && !(is_sized && IsTaken(graph, node.outputs[0]))) return std::nullopt;
  const DimsView dims = found->filters->dims();
  const int64_t filters = dims[1], height = dims[2], width = dims[3];
  Patch patch(graph);
  ValueId x = last.valid() ? last : node.inputs[0];
  if (!last.valid() && kType == DType::kFloat32)
    x = patch.AddNode("ToChannelsLast", {x}, WithType({}, kType), kOnwardDomain);
  std::vector<ValueId> inputs = {x, patch.AddConstant("filters", PixelFilters(*found->filters))};
  if (found->bias != nullptr)
    inputs.push_back(patch.AddConstant("bias", RepeatedBias(*found->bias, height * width)));
  const auto numbers = [&](std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return patch.AddConstant("shape", Tensor::Of<int64_t>({count}, values));
  };
  // The result's, [batch, rows, columns, filters].
  const auto shape = [&] {
    if (is_sized)
      return numbers({0, found->x[2].value() * height, found->x[3].value() * width, filters});
    const ValueId given = patch.AddNode("Shape", {last});
    const ValueId sizes = patch.AddNode("Mul", {given, numbers({1, height, width, 0})});
    return patch.AddNode("Add", {sizes, numbers({0, 0, 0, filters})});
  };
  const ValueId pixels =
      patch.AddNode("ChannelsLastFusedConv", std::move(inputs), WithType({}, kType), kOnwardDomain);
  const ValueId windows =
      patch.AddNode("Reshape", {pixels, numbers({0, 0, 0, height, width * filters})});
  const ValueId rows =
      patch.AddNode("Transpose", {windows}, {{"perm", std::vector<int64_t>{0, 1, 3, 2, 4}}});
  const ValueId image = patch.AddNode("Reshape", {rows, shape()});
  patch.Replace(node.outputs[0], ToFirst(patch, image));
  return patch;
}

template <DType kType>
constexpr Rule kRules[] = {
    {"channels_last_conv", "Conv", Conv<kType>},
    {"channels_last_conv", "onward.FusedConv", Conv<kType>},
    {"channels_last_conv", "ConvTranspose", Transposed<kType>},
    {"channels_last_data", "onward.ChannelsLastFusedConv", Data},
    {"channels_last_back", "onward.ToChannelsLast", Back},
};

}  // namespace

bool IsFloatImage(const Graph& graph, ValueId value) {
  return value.valid() && graph.type(value).dtype == DType::kFloat32 && RankOf(graph, value) == 4;
}

bool IsOnePixel(const Type& type) {
  const Dim one(1);
  return type.shape && type.shape->size() == 4 && (*type.shape)[2].SameAs(one) &&
         (*type.shape)[3].SameAs(one);
}

ValueId LastOf(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid() || !graph.node(maker).Is("ToChannelsFirst", kOnwardDomain)) return {};
  return graph.node(maker).inputs[0];
}

Attributes WithType(Attributes attributes, DType image) {
  if (image != DType::kBFloat16) attributes.Set("dtype", static_cast<int64_t>(image));
  return attributes;
}

ValueId ToFirst(Patch& patch, ValueId last) {
  return patch.AddNode("ToChannelsFirst", {last}, {}, kOnwardDomain);
}

bool IsTaken(const Graph& graph, ValueId value) {
  for (const NodeId id : graph.users(value)) {
    const Node& reader = graph.node(id);
    const bool is_residual = InputOf(reader, 3) == value;
    if ((IsConv(graph, reader) && (reader.inputs[0] == value || is_residual)) ||
        (reader.Is("ChannelsLastFusedConv", kOnwardDomain) && reader.inputs[0] == value) ||
        reader.Is("ToChannelsLast", kOnwardDomain) || ReadSideBySide(graph, reader) ||
        FollowsImage(graph, reader, value)) {
      return true;
    }
  }
  return false;
}

bool MayComeLast(const Graph& graph, ValueId value) {
  const NodeId maker = Maker(graph, value);
  if (!maker.valid()) return false;
  const Node& node = graph.node(maker);
  return IsConv(graph, node) || ReadSideBySide(graph, node) || IsFollower(graph, node) ||
         LastOf(graph, value).valid();
}

absl::StatusOr<int> PutFloatsChannelsLast(Graph& graph, const PassOptions& options, int& budget) {
  if (!options.narrow_products && !FillsVectors(graph)) return 0;
  std::vector<Rule> rules;
  const auto add = [&](absl::Span<const Rule> more) {
    rules.insert(rules.end(), more.begin(), more.end());
  };
  add(options.narrow_products ? absl::MakeConstSpan(kRules<DType::kBFloat16>)
                              : absl::MakeConstSpan(kRules<DType::kFloat32>));
  if (!options.narrow_products) rules.push_back({"channels_last_transpose", "Transpose", Turned});
  add(FollowerRules());
  return ApplyRules(graph, rules, budget);
}

}  // namespace onward
