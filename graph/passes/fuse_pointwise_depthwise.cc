// A pointwise convolution and the depthwise one that alone reads it become
// onward.PointwiseDepthwiseConv, or ChannelsLastPointwiseDepthwiseConv where they have their
// channels last: the expanded image of an inverted residual block (Sandler et al., MobileNetV2,
// 2018) is never whole in memory.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

bool IsChannelsLast(const Node& node) { return node.Is("ChannelsLastFusedConv", kOnwardDomain); }

// The dims of the constant filters of a convolution of float32 images, which is one without a
// residual; empty for other nodes.
Dims FilterDims(const Graph& graph, const Node& node) {
  const bool is_conv =
      node.Is("Conv") || node.Is("FusedConv", kOnwardDomain) ||
      (IsChannelsLast(node) && graph.type(node.outputs[0]).dtype == DType::kFloat32);
  if (!is_conv || InputOf(node, 3).valid()) return {};
  const Tensor* filters = FixedConstant(graph, node.inputs[1]);
  if (filters == nullptr || filters->dtype() != DType::kFloat32 || filters->rank() != 4) return {};
  return Dims(filters->dims().begin(), filters->dims().end());
}

bool AreAll(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

// Returns whether each output element reads the channels of one input pixel.
bool IsPointwise(const Node& node, const Dims& filters) {
  const Attributes& a = node.attributes;
  const std::string padding = a.String("auto_pad", "NOTSET");
  return filters.size() == 4 && filters[2] == 1 && filters[3] == 1 && a.Int("group", 1) == 1 &&
         AreAll(a.Ints("strides"), 1) && (padding != "NOTSET" || AreAll(a.Ints("pads"), 0));
}

bool IsDepthwise(const Node& node, const Dims& filters) {
  return filters.size() == 4 && filters[0] > 1 && filters[1] == 1 &&
         node.attributes.Int("group", 1) == filters[0] && filters[2] * filters[3] > 1;
}

std::optional<Patch> Fuse(const Graph& graph, NodeId root) {
  const Node& depthwise = graph.node(root);
  const Dims filters = FilterDims(graph, depthwise);
  if (!IsDepthwise(depthwise, filters)) return std::nullopt;
  const NodeId maker = Maker(graph, depthwise.inputs[0]);
  if (!maker.valid() || !ReadOnce(graph, depthwise.inputs[0])) return std::nullopt;
  const Node& pointwise = graph.node(maker);
  const Dims expanding = FilterDims(graph, pointwise);
  if (!IsPointwise(pointwise, expanding) || expanding[0] != filters[0] ||
      IsChannelsLast(pointwise) != IsChannelsLast(depthwise))
    return std::nullopt;
  Attributes attributes = depthwise.attributes;
  attributes.Erase("dtype");
  for (const char* name : {"activation", "activation_alpha", "activation_beta"}) {
    if (pointwise.attributes.Has(name))
      attributes.Set(absl::StrCat("pointwise_", name), pointwise.attributes.map().at(name));
  }
  std::vector<ValueId> inputs = {pointwise.inputs[0], depthwise.inputs[1], pointwise.inputs[1],
                                 InputOf(depthwise, 2), InputOf(pointwise, 2)};
  while (!inputs.back().valid()) inputs.pop_back();
  Patch patch(graph);
  const char* op =
      IsChannelsLast(depthwise) ? "ChannelsLastPointwiseDepthwiseConv" : "PointwiseDepthwiseConv";
  patch.Replace(depthwise.outputs[0],
                patch.AddNode(op, std::move(inputs), std::move(attributes), kOnwardDomain));
  return patch;
}

constexpr Rule kRules[] = {
    {"fuse_pointwise_depthwise", "Conv", Fuse},
    {"fuse_pointwise_depthwise", "onward.FusedConv", Fuse},
    {"fuse_pointwise_depthwise", "onward.ChannelsLastFusedConv", Fuse},
};

}  // namespace

absl::StatusOr<int> FusePointwiseDepthwise(Graph& graph, const PassOptions& options, int& budget) {
  return options.narrow_products ? 0 : ApplyRules(graph, kRules, budget);
}

}  // namespace onward
