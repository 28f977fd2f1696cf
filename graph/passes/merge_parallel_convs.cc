// The sum of convolutions of one image becomes one convolution: the smaller filter is added to the
// taps of the larger one that read the same pixels, and a BatchNormalization of the image itself is
// a filter of one tap. Networks that are trained with branches and meant to be merged for inference
// (RepVGG, arXiv:2101.03697; MobileOne, arXiv:2206.04040) are often exported with them.
#include <algorithm>

#include "graph/passes/channel_affine.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A convolution with constant filters [m, channels / group, taps...] without dilation, or a
// BatchNormalization in inference as one of one tap.
struct Branch {
  const Node* node = nullptr;
  int64_t group = 1;
  Dims dims;  // of the filters
  std::vector<int64_t> strides, pads;

  ValueId x() const { return node->inputs[0]; }
  bool is_conv() const { return node->Is("Conv"); }
};

std::optional<Branch> ReadConv(const Graph& graph, ValueId value) {
  const Node* conv = MadeBy(graph, value, "Conv");
  if (conv == nullptr || !ReadOnce(graph, value)) return std::nullopt;
  const Tensor* w = FixedConstant(graph, conv->inputs[1]);
  if (w == nullptr || w->rank() < 3 || w->dims()[0] == 0) return std::nullopt;
  if (conv->attributes.String("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const size_t axes = static_cast<size_t>(w->rank()) - 2;
  const std::vector<int64_t> ones(axes, 1);
  if (conv->attributes.Ints("dilations", ones) != ones) return std::nullopt;
  Branch branch{conv, conv->attributes.Int("group", 1), Dims(w->dims().begin(), w->dims().end()),
                conv->attributes.Ints("strides", ones),
                conv->attributes.Ints("pads", std::vector<int64_t>(2 * axes, 0))};
  if (branch.strides.size() != axes || branch.pads.size() != 2 * axes) return std::nullopt;
  return branch;
}

// Reads a normalization of the input of the convolution `like`.
std::optional<Branch> ReadNormalization(const Graph& graph, ValueId value, const Branch& like) {
  const Node* node = MadeBy(graph, value, "BatchNormalization");
  if (node == nullptr || !ReadOnce(graph, value)) return std::nullopt;
  const bool moves = std::any_of(like.strides.begin(), like.strides.end(),
                                 [](int64_t stride) { return stride != 1; });
  if (moves || like.dims[0] != like.dims[1] * like.group) return std::nullopt;
  Branch branch{node, like.group, Dims(like.dims.size(), 1), like.strides,
                std::vector<int64_t>(2 * like.strides.size(), 0)};
  branch.dims[0] = like.dims[0];
  branch.dims[1] = like.dims[1];
  return branch;
}

struct Elements {
  std::vector<double> filters, bias;  // the bias is one per filter
};

std::optional<Elements> ConvElements(const Graph& graph, const Branch& branch) {
  auto filters = FloatElements(graph, branch.node->inputs[1]);
  if (!filters) return std::nullopt;
  Elements elements{*std::move(filters), {}};
  const auto count = static_cast<size_t>(branch.dims[0]);
  elements.bias.assign(count, 0.0);
  const ValueId bias = InputOf(*branch.node, 2);
  if (!bias.valid()) return elements;
  auto values = FloatElements(graph, bias);
  if (!values || values->size() != count) return std::nullopt;
  elements.bias = *std::move(values);
  return elements;
}

std::optional<Elements> ElementsOf(const Graph& graph, const Branch& branch) {
  if (branch.is_conv()) return ConvElements(graph, branch);
  const int64_t channels = branch.dims[0], each = branch.dims[1];
  const auto affine = ReadChannelAffine(graph, *branch.node, RankOf(graph, branch.x()), channels);
  if (!affine) return std::nullopt;
  Elements elements;
  elements.filters.assign(static_cast<size_t>(channels * each), 0.0);
  for (int64_t c = 0; c < channels; ++c)
    elements.filters[static_cast<size_t>(c * each + c % each)] =
        affine->scale[static_cast<size_t>(c)];
  elements.bias = affine->shift;
  return elements;
}

// Where the taps of `small` lie in those of `large`, per axis; nothing where some lie outside, or
// the results differ in size.
std::optional<std::vector<int64_t>> PlaceIn(const Branch& large, const Branch& small) {
  if (large.x() != small.x() || large.group != small.group || large.strides != small.strides ||
      large.dims[0] != small.dims[0] || large.dims.size() != small.dims.size())
    return std::nullopt;
  std::vector<int64_t> place;
  const size_t axes = large.strides.size();
  for (size_t i = 0; i < axes; ++i) {
    const int64_t begin = large.pads[i] - small.pads[i];
    const int64_t end = large.pads[axes + i] - small.pads[axes + i];
    if (begin < 0 || end < 0 || begin + small.dims[i + 2] + end != large.dims[i + 2])
      return std::nullopt;
    place.push_back(begin);
  }
  return place;
}

// Adds `part`, of filters of dims `small`, to `sum`, of filters of dims `large`.
void AddInto(Elements& sum, const Dims& large, const Elements& part, const Dims& small,
             const std::vector<int64_t>& place) {
  const int64_t filters = large[0] * large[1];
  const int64_t taps = NumElements(small, 2, static_cast<int>(small.size()));
  const int64_t large_taps = NumElements(large, 2, static_cast<int>(large.size()));
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t at = 0, rest = tap, stride = 1;
    for (size_t i = place.size(); i-- > 0;) {
      at += (rest % small[i + 2] + place[i]) * stride;
      rest /= small[i + 2];
      stride *= large[i + 2];
    }
    for (int64_t f = 0; f < filters; ++f)
      sum.filters[static_cast<size_t>(f * large_taps + at)] +=
          part.filters[static_cast<size_t>(f * taps + tap)];
  }
  for (size_t m = 0; m < sum.bias.size(); ++m) sum.bias[m] += part.bias[m];
}

std::optional<Patch> MergeSum(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  std::optional<Branch> first = ReadConv(graph, node.inputs[0]);
  std::optional<Branch> second = ReadConv(graph, node.inputs[1]);
  if (first && !second) second = ReadNormalization(graph, node.inputs[1], *first);
  if (second && !first) first = ReadNormalization(graph, node.inputs[0], *second);
  if (!first || !second) return std::nullopt;
  if (!first->is_conv()) std::swap(first, second);
  auto place = PlaceIn(*first, *second);
  if (!place && second->is_conv()) {
    std::swap(first, second);
    place = PlaceIn(*first, *second);
  }
  if (!place) return std::nullopt;
  std::optional<Elements> sum = ElementsOf(graph, *first);
  const std::optional<Elements> part = ElementsOf(graph, *second);
  if (!sum || !part) return std::nullopt;
  AddInto(*sum, first->dims, *part, second->dims, *place);
  const DType dtype = graph.constant(first->node->inputs[1])->dtype();
  Patch patch(graph);
  const ValueId w = patch.AddConstant(graph.value(first->node->inputs[1]).name + "_merged",
                                      FloatTensor(dtype, first->dims, sum->filters));
  const ValueId b = patch.AddConstant(graph.value(node.outputs[0]).name + "_bias",
                                      FloatTensor(dtype, Dims{first->dims[0]}, sum->bias));
  patch.Replace(node.outputs[0],
                patch.AddNode("Conv", {first->x(), w, b}, first->node->attributes));
  return patch;
}

constexpr Rule kRules[] = {{"merge_parallel_convs", "Add", MergeSum}};

}  // namespace

absl::StatusOr<int> MergeParallelConvs(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
